/** How the name of a rotated log ends once it is compressed. */
export const COMPRESSED_SUFFIX = '.gz';
/** How the name of a file ends that is not ready yet. */
export const TEMPORARY_SUFFIX = '.tmp';

/** A rotated log: `<name>.<stamp>`, or `<name>.<stamp>.gz` once it is compressed. */
export interface RotatedFile {
  readonly name: string;
  /** When it was rotated, `20060102-150405` in UTC: it sorts by time. */
  readonly stamp: string;
  readonly compressed: boolean;
}

/** What of a directory belongs to one log. */
export interface LogFiles {
  /** Oldest first. */
  readonly rotated: readonly RotatedFile[];
  /** Left by a rotation that was interrupted: files not ready, and those whose compressed form is there already. */
  readonly unused: readonly string[];
}

/**
 * Sorts out which files of a directory are rotated forms of the log `base`
 * (`filterUnusedLogs`, `pkg/kubelet/logs/container_log_manager.go`).
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

/** Which files go, so that with the log itself and the one about to be rotated there are at most `maxFiles`. */
export function excessFiles(rotated: readonly RotatedFile[], maxFiles: number): readonly RotatedFile[] {
  return rotated.slice(0, Math.max(rotated.length - Math.max(maxFiles - 2, 0), 0));
}

/**
 * The stamp of a log that is rotated now. It sorts after those that are there already, though they be of the same
 * second or of a time that the clock was set back from: none is overwritten, and their order holds.
 */
export function nextStamp(rotated: readonly RotatedFile[], nowMs: number): string {
  const last = rotated.map(({ stamp }) => stampTimeMs(stamp)).filter((ms) => ms !== undefined);
  return formatStamp(Math.max(nowMs, ...last.map((ms) => ms + 1000)));
}

/** Whether a rotation of ours has named a file so: runtimes that rotate by themselves count, the newest first. */
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
