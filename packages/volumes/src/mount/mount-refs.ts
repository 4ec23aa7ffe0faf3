import type { FileSystem } from '@node-agent/host';
import { type Mounter, realDirectory } from './mounter.ts';

/** Part of a path that marks directories in which the kubelet itself mounts volumes for the whole node. */
const NODE_PLUGINS = '/plugins/kubernetes.io/';

/**
 * Returns the mounts that show the same directory as the mount at `path`, without that mount itself and its
 * counterparts in other peers of the kubelet's directory (`HasMountRefs` of `pkg/volume/util`).
 */
export async function mountRefs(
  components: {
    readonly fs: Pick<FileSystem, 'realpath'>;
    readonly mounter: Pick<Mounter, 'mountsOfSame'>;
  },
  path: string,
): Promise<readonly string[]> {
  const real = await realDirectory(components.fs, path);
  if (real === undefined) return [];
  const at = real.indexOf(NODE_PLUGINS);
  const own = at === -1 ? real : real.slice(at);
  return (await components.mounter.mountsOfSame(real)).filter((point) => !point.includes(own));
}

/** Returns the mount points that show the same directory of the same file system as the topmost mount at `path`. */
export function mountsOfSame(mountInfo: string, path: string): readonly string[] {
  const mounts = mountInfo.split('\n').flatMap((line) => {
    const [, , device, root, point] = line.split(' ');
    if (device === undefined || root === undefined || point === undefined) return [];
    return [{ shown: `${device} ${root}`, point: unescaped(point) }];
  });
  const shown = mounts.findLast(({ point }) => point === path)?.shown;
  return shown === undefined ? [] : mounts.filter((mount) => mount.shown === shown).map(({ point }) => point);
}

/** Decodes blanks and backslashes, which the kernel escapes in octal. */
function unescaped(point: string): string {
  const bytes = point.replace(/\\([0-7]{3})/g, (_all, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));
  return Buffer.from(bytes, 'latin1').toString();
}
