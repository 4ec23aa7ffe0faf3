/** File name suffix of a compressed rotated log. */
export const COMPRESSED_SUFFIX = '.gz';
/** File name suffix of an incomplete file. */
export const TEMPORARY_SUFFIX = '.tmp';

/** A rotated log: `<name>.<stamp>`, or `<name>.<stamp>.gz` once it is compressed. */
export interface RotatedFile {
  readonly name: string;
  /** Time of the rotation, as `20060102-150405` in UTC, which sorts by time. */
  readonly stamp: string;
  readonly compressed: boolean;
}

/** The files of a directory that belong to one log. */
export interface LogFiles {
  /** Rotated files, oldest first. */
  readonly rotated: readonly RotatedFile[];
  /** Leftovers of an interrupted rotation: incomplete files, and files whose compressed form exists. */
  readonly unused: readonly string[];
}

/**
 * Selects the files of a directory that are rotated forms of the log `base` (`filterUnusedLogs`,
 * `pkg/kubelet/logs/container_log_manager.go`).
 */
export function logFiles(names: readonly string[], base: string): LogFiles {
  const own = new Set(names.filter((name) => name.startsWith(`${base}.`)));
  const rotated: RotatedFile[] = [];
  const unused: string[] = [];
  for (const name of own) {
    const compressed = name.endsWith(COMPRESSED_SUFFIX);
    if (name.endsWith(TEMPORARY_SUFFIX) || (!compressed && own.has(`${name}${COMPRESSED_SUFFIX}`))) unused.push(name);
    else
      rotated.push({
        name,
        compressed,
        stamp: name.slice(base.length + 1, compressed ? -COMPRESSED_SUFFIX.length : undefined),
      });
  }
  return { rotated: rotated.sort((a, b) => (a.stamp < b.stamp ? -1 : 1)), unused: unused.sort() };
}

/**
 * Returns the files to remove, so that together with the current log and the one about to be rotated at most `maxFiles`
 * remain.
 */
export function excessFiles(rotated: readonly RotatedFile[], maxFiles: number): readonly RotatedFile[] {
  return rotated.slice(0, Math.max(rotated.length - Math.max(maxFiles - 2, 0), 0));
}

/**
 * Returns the stamp for a log that is rotated now. The new stamp sorts after all existing stamps, even if an existing
 * stamp is from the same second or the clock was set back. No file is overwritten, and the order is kept.
 */
export function nextStamp(rotated: readonly RotatedFile[], nowMs: number): string {
  const last = rotated.map(({ stamp }) => stampTimeMs(stamp)).filter((ms) => ms !== undefined);
  return formatStamp(Math.max(nowMs, ...last.map((ms) => ms + 1000)));
}

/**
 * Returns whether a file's suffix is a stamp of this rotation. Runtimes that rotate logs themselves number the files
 * instead, newest first.
 */
export function isStamp(stamp: string): boolean {
  return stampTimeMs(stamp) !== undefined;
}

function formatStamp(ms: number): string {
  const [date = '', time = ''] = new Date(ms).toISOString().split(/[T.]/);
  return `${date.replaceAll('-', '')}-${time.replaceAll(':', '')}`;
}

function stampTimeMs(stamp: string): number | undefined {
  const match = /^(\d{4})(\d\d)(\d\d)-(\d\d)(\d\d)(\d\d)$/.exec(stamp);
  if (!match) return undefined;
  const [, year, month, day, hour, minute, second] = match;
  const ms = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
  return Number.isNaN(ms) ? undefined : ms;
}
