import { basename, dirname, join } from 'node:path';
import { type FileSystem, isMissing, textOfBytes } from '@node-agent/host';

/** The host's mounts, as far as volumes need them. */
export interface Mounter {
  /** What is mounted where: file system types by mount point; of several on one point, the topmost. */
  mountPoints(): Promise<ReadonlyMap<string, string>>;
  /** @throws VolumeError `MountFailed` */
  mount(source: string, target: string, fsType: string, options: readonly string[], signal: AbortSignal): Promise<void>;
  /** Mounts what a handle of `holdBeneath` leads to, file or directory, on one of its kind. @throws VolumeError `MountFailed` */
  bind(handle: string, target: string, signal: AbortSignal): Promise<void>;
  /**
   * Unmounts what is on top at `target`. `lazy`: with all that is mounted below it, even where that is in use; where the same is
   * mounted elsewhere it stays. @throws VolumeError `MountFailed`
   */
  unmount(target: string, signal: AbortSignal, options?: { readonly lazy?: boolean }): Promise<void>;
}

/** Reads `/proc/self/mountinfo` (proc(5)): file system types by mount point. Lines that make no sense are passed over. */
export function parseMountInfo(text: string): Map<string, string> {
  const points = new Map<string, string>();
  for (const line of text.split('\n')) {
    const [fields, rest] = line.split(' - ', 2);
    const point = fields?.split(' ')[4];
    const fsType = rest?.split(' ')[0];
    // The kernel writes blanks and backslashes of paths in octal.
    const unescaped = point?.replace(/\\([0-7]{3})/g, (_all, octal: string) =>
      String.fromCharCode(Number.parseInt(octal, 8)),
    );
    if (unescaped && fsType) points.set(unescaped, fsType);
  }
  return points;
}

/** Reads the mount table through the host's files. */
export async function readMountPoints(fs: Pick<FileSystem, 'readFile'>): Promise<Map<string, string>> {
  // Latin 1 and back keeps paths that are no UTF-8 apart from each other, and octal escapes in their bytes.
  const bytes = await fs.readFile('/proc/self/mountinfo');
  const points = parseMountInfo(Buffer.from(bytes).toString('latin1'));
  return new Map([...points].map(([point, fsType]) => [textOfBytes(Buffer.from(point, 'latin1')), fsType]));
}

/** The mount points at `directory` or below it. */
export async function mountPointsWithin(
  components: { readonly fs: Pick<FileSystem, 'realpath'>; readonly mounter: Pick<Mounter, 'mountPoints'> },
  directory: string,
): Promise<string[]> {
  const real = await realDirectory(components.fs, directory);
  if (real === undefined) return [];
  const points = [...(await components.mounter.mountPoints()).keys()];
  return points.filter((point) => point === real || point.startsWith(`${real}/`));
}

/** `directory` as the mount table names it: its parent may be reached through links; it itself is taken as it is. */
export async function realDirectory(fs: Pick<FileSystem, 'realpath'>, directory: string): Promise<string | undefined> {
  try {
    return join(await fs.realpath(dirname(directory)), basename(directory));
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}
