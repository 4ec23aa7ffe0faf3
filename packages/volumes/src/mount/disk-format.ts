import { VolumeError } from '../errors.ts';

/** Result of blkid(8) for a disk. */
export interface ProbeResult {
  readonly exitCode: number;
  /** Output, in one line. */
  readonly output: string;
}

/** Arguments of blkid(8). */
export const probeArguments = (device: string): readonly string[] => [
  ...['-p', '-s', 'TYPE', '-s', 'PTTYPE', '-o', 'export'],
  device,
];

/** Exit code of blkid(8) if it recognizes nothing on the disk. */
const NOTHING_FOUND = 2;

/**
 * Returns the file system type of a disk; `undefined` if the disk has no recognizable data and may be formatted
 * (`GetDiskFormat` of `k8s.io/mount-utils`). A partition table counts as data. blkid(8) returns the same exit code for
 * a disk that cannot be opened, but then it prints an error.
 * @throws VolumeError `MountFailed` if the type cannot be determined
 */
export function diskFormat(device: string, { exitCode, output }: ProbeResult): string | undefined {
  if (exitCode === NOTHING_FOUND && output === '') return undefined;
  if (exitCode !== 0) {
    const why = output || `exit code ${exitCode}`;
    throw new VolumeError('MountFailed', `failed to get disk format of disk ${device}: ${why}`);
  }
  const found = (field: string): string | undefined =>
    output
      .split(' ')
      .findLast((part) => part.startsWith(`${field}=`))
      ?.slice(field.length + 1);
  if (found('PTTYPE') !== undefined) return 'unknown data, probably partitions';
  const type = found('TYPE');
  if (type !== undefined) return type;
  throw new VolumeError('MountFailed', `failed to get disk format of disk ${device}: blkid returns invalid output`);
}

/** Options of mkfs(8), by file system type. The options suppress questions, and reserve no blocks for the superuser. */
const MAKE_OPTIONS: ReadonlyMap<string, readonly string[]> = new Map([
  ['ext3', ['-F', '-m0']],
  ['ext4', ['-F', '-m0']],
  ['xfs', ['-f']],
]);

/**
 * Returns the command that formats a disk, with its arguments. @throws VolumeError `InvalidSource` if `fsType` is not a
 * valid name
 */
export function makeCommand(device: string, fsType: string): readonly [command: string, args: readonly string[]] {
  if (!/^[\w.-]+$/.test(fsType)) {
    throw new VolumeError('InvalidSource', `${JSON.stringify(fsType)} must be the name of a file system type`);
  }
  return [`mkfs.${fsType}`, [...(MAKE_OPTIONS.get(fsType) ?? []), device]];
}

/**
 * Returns the command that grows a mounted file system to the size of its disk, with its arguments (`resizefs_linux.go`
 * of `k8s.io/mount-utils`). @throws VolumeError `MountFailed` for other file systems
 */
export function growCommand(
  device: string,
  target: string,
  format: string,
): readonly [command: string, args: readonly string[]] {
  switch (format) {
    case 'ext3':
    case 'ext4':
      return ['resize2fs', [device]];
    case 'xfs':
      return ['xfs_growfs', ['-d', target]];
    case 'btrfs':
      return ['btrfs', ['filesystem', 'resize', 'max', target]];
    default:
      throw new VolumeError('MountFailed', `resize of format ${format} is not supported for device ${device}`);
  }
}

/** Exit code bit of fsck(8) for uncorrected errors. */
const UNCORRECTED = 4;

/**
 * Returns whether fsck(8) found errors that it could not correct. Other problems are reported when the disk is mounted.
 */
export function isBroken(exitCode: number): boolean {
  return exitCode === UNCORRECTED;
}
