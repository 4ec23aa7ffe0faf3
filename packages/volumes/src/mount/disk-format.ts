import { VolumeError } from '../errors.ts';

/** What blkid(8) says of a disk. */
export interface ProbeResult {
  readonly exitCode: number;
  /** In one line. */
  readonly output: string;
}

/** The arguments that blkid(8) is asked with. */
export const probeArguments = (device: string): readonly string[] => [
  ...['-p', '-s', 'TYPE', '-s', 'PTTYPE', '-o', 'export'],
  device,
];

/** blkid(8) has found nothing that it knows. */
const NOTHING_FOUND = 2;

/**
 * The file system that a disk has; `undefined` where it has nothing at all on it, and may be given one (`GetDiskFormat` of
 * `k8s.io/mount-utils`). A partition table is something. The code for nothing found is that for a disk which cannot be opened, too: then
 * more is said.
 * @throws VolumeError `MountFailed` where that cannot be told
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

/** The options of commands that would ask first, or keep blocks back for the superuser. */
const MAKE_OPTIONS: ReadonlyMap<string, readonly string[]> = new Map([
  ['ext3', ['-F', '-m0']],
  ['ext4', ['-F', '-m0']],
  ['xfs', ['-f']],
]);

/** The command that makes a file system, and its arguments. @throws VolumeError `InvalidSource` for what is no name of one */
export function makeCommand(device: string, fsType: string): readonly [command: string, args: readonly string[]] {
  if (!/^[\w.-]+$/.test(fsType)) {
    throw new VolumeError('InvalidSource', `${JSON.stringify(fsType)} is no type of file systems`);
  }
  return [`mkfs.${fsType}`, [...(MAKE_OPTIONS.get(fsType) ?? []), device]];
}

/** fsck(8) has found errors that it could not correct. */
const UNCORRECTED = 4;

/** Whether fsck(8) has found what keeps a disk from being mounted: whatever else it says, the mount tells for itself. */
export function isBroken(exitCode: number): boolean {
  return exitCode === UNCORRECTED;
}
