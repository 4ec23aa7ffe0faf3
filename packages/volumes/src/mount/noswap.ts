import type { FileSystem } from '@node-agent/host';

const [MAJOR, MINOR] = [6, 4];
/** What a process outside of all user namespaces sees. */
const WHOLE_UID_MAP = /^\s*0\s+0\s+4294967295\s*$/;

/**
 * Whether a tmpfs can be kept out of swap (`pkg/kubelet/util/swap`): from Linux 6.4 on, and not in a user namespace, where
 * the kernel refuses it (k/k#125137).
 * @param osRelease as `6.1.0-18-amd64`
 * @param uidMap `/proc/self/uid_map`
 */
export function supportsNoswap(osRelease: string, uidMap: string): boolean {
  const [, major = '0', minor = '0'] = /^(\d+)\.(\d+)/.exec(osRelease) ?? [];
  const isNewEnough = Number(major) > MAJOR || (Number(major) === MAJOR && Number(minor) >= MINOR);
  return isNewEnough && WHOLE_UID_MAP.test(uidMap);
}

/** Whether this machine can keep a tmpfs out of swap: from Linux 6.4 on, outside of user namespaces; no where it cannot be told. */
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
