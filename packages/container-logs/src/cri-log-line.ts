import { LineTimes } from './line-times.ts';

/** Output stream of a container. */
export type LogStream = 'stdout' | 'stderr';

/** The fields before the content of a line in a log file. */
export interface CriLogHeader {
  /** Time of the line, in milliseconds since the Unix epoch, with a fraction. */
  readonly timeMs: number;
  /** Time of the line as shown in output: RFC 3339 with nine decimals. */
  readonly timestamp: string;
  readonly stream: LogStream;
  /** Whether the line is incomplete: its content continues in the next line of the same stream. */
  readonly partial: boolean;
  /** Offset of the content from the start of the line, in bytes. */
  readonly contentOffset: number;
}

const [SPACE, COLON, UPPER_P] = [0x20, 0x3a, 0x50];
/** Minimum length of a timestamp in bytes. */
const MIN_TIME_BYTES = 20;
/** Maximum length of a header in bytes: enough for a timestamp of 35 characters, a stream, and all tags. */
const MAX_HEADER_BYTES = 256;
const STDOUT = Buffer.from('stdout ');
const STDERR = Buffer.from('stderr ');

/** Parses line headers in the CRI log format into its own fields, so that no object is allocated per line. */
export class CriLogHeaderReader {
  readonly #times = new LineTimes();
  timeMs: number = Number.NaN;
  /** Offset of the first byte after the timestamp. */
  timeEnd = 0;
  stream: LogStream = 'stdout';
  partial = false;
  /** Offset of the first byte of the content. */
  contentAt = 0;

  /** Parses the header between `start` and `end`. @returns whether the bytes start with a valid CRI log header */
  read(bytes: Uint8Array, start: number, end: number): boolean {
    const limit = Math.min(end, start + MAX_HEADER_BYTES + 1);
    const timeEnd = spaceFrom(bytes, start + MIN_TIME_BYTES, limit);
    if (timeEnd < 0) return false;
    const streamAt = timeEnd + 1;
    const tagsAt = streamAt + STDOUT.length;
    const tagsEnd = spaceFrom(bytes, tagsAt, limit);
    if (tagsEnd < 0) return false;
    if (isAt(bytes, streamAt, STDOUT)) this.stream = 'stdout';
    else if (isAt(bytes, streamAt, STDERR)) this.stream = 'stderr';
    else return false;
    this.timeMs = this.#times.read(bytes, start, timeEnd);
    if (Number.isNaN(this.timeMs)) return false;
    this.timeEnd = timeEnd;
    this.partial = bytes[tagsAt] === UPPER_P && (tagsEnd === tagsAt + 1 || bytes[tagsAt + 1] === COLON);
    this.contentAt = tagsEnd + 1;
    return true;
  }
}

/**
 * Parses the header of a line in the CRI log format, `<RFC 3339 time> <stdout|stderr> <P|F>[:<tag>...] <content>`.
 * Returns `undefined` if the line has no valid header (`parseCRILog`, `k8s.io/cri-client/pkg/logs`).
 */
export function parseCriLogLine(line: Uint8Array): CriLogHeader | undefined {
  const reader = new CriLogHeaderReader();
  if (!reader.read(line, 0, line.length)) return undefined;
  const { timeMs, stream, partial, contentAt, timeEnd } = reader;
  return { timeMs, timestamp: timestampAt(line, 0, timeEnd), stream, partial, contentOffset: contentAt };
}

/** Returns a time in its output format. */
export function timestampAt(bytes: Uint8Array, start: number, end: number): string {
  return normalized(Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString('latin1'));
}

/** Parses an RFC 3339 time of any precision and offset. */
export function parseTimestamp(text: string): Pick<CriLogHeader, 'timeMs' | 'timestamp'> | undefined {
  const bytes = Buffer.from(text);
  const timeMs = new LineTimes().read(bytes, 0, bytes.length);
  return Number.isNaN(timeMs) ? undefined : { timeMs, timestamp: normalized(text) };
}

function normalized(text: string): string {
  const [, digits = ''] = /^[.,](\d+)/.exec(text.slice(19)) ?? [];
  const zone = text.slice(19 + (digits === '' ? 0 : digits.length + 1));
  const nanoseconds = digits.slice(0, 9).padEnd(9, '0');
  return `${text.slice(0, 19)}.${nanoseconds}${/^[+-]00:00$/.test(zone) ? 'Z' : zone}`;
}

/** Returns the index of the first space from `at` and before `limit`; -1 if there is none. */
function spaceFrom(bytes: Uint8Array, at: number, limit: number): number {
  for (let index = at; index < limit; index++) if (bytes[index] === SPACE) return index;
  return -1;
}

function isAt(bytes: Uint8Array, at: number, text: Uint8Array): boolean {
  for (let index = 0; index < text.length; index++) if (bytes[at + index] !== text[index]) return false;
  return true;
}
