import type { FileSystem } from '@node-agent/host';

const [MAJOR, MINOR] = [6, 4];
/** Content of uid_map for a process outside of all user namespaces. */
const WHOLE_UID_MAP = /^\s*0\s+0\s+4294967295\s*$/;

/**
 * Returns whether a tmpfs supports the `noswap` option (`pkg/kubelet/util/swap`): on Linux 6.4 or later, and not in a
 * user namespace, where the kernel rejects it (k/k#125137).
 * @param osRelease for example `6.1.0-18-amd64`
 * @param uidMap content of `/proc/self/uid_map`
 */
export function supportsNoswap(osRelease: string, uidMap: string): boolean {
  const [, major = '0', minor = '0'] = /^(\d+)\.(\d+)/.exec(osRelease) ?? [];
  const isNewEnough = Number(major) > MAJOR || (Number(major) === MAJOR && Number(minor) >= MINOR);
  return isNewEnough && WHOLE_UID_MAP.test(uidMap);
}

/** Returns whether this machine supports the tmpfs option `noswap`; false if that cannot be determined. */
export async function readNoswapSupport(fs: Pick<FileSystem, 'readFile'>): Promise<boolean> {
  try {
    const [osRelease = '', uidMap = ''] = await Promise.all(
      ['/proc/sys/kernel/osrelease', '/proc/self/uid_map'].map(async (path) =>
        Buffer.from(await fs.readFile(path)).toString(),
      ),
    );
    return supportsNoswap(osRelease, uidMap);
  } catch {
    return false;
  }
}
