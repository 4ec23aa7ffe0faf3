import { LineTimes } from './line-times.ts';

/** Which of a container's outputs a line came from. */
export type LogStream = 'stdout' | 'stderr';

/** What stands before the content of a line in a log file. */
export interface CriLogHeader {
  /** When it was written, in milliseconds since the Unix epoch, with a fraction. */
  readonly timeMs: number;
  /** The same as output has it: RFC 3339 with nine digits of fraction. */
  readonly timestamp: string;
  readonly stream: LogStream;
  /** Whether the container had not ended the line there: its content goes on in the next one of the stream. */
  readonly partial: boolean;
  /** Where the content begins. */
  readonly contentOffset: number;
}

const [SPACE, COLON, UPPER_P] = [0x20, 0x3a, 0x50];
/** The first of a time's bytes that may end it. */
const MIN_TIME_BYTES = 20;
/** A timestamp of 35 characters, a stream, and as many tags as anybody will ever think of. */
const MAX_HEADER_BYTES = 256;
const STDOUT = Buffer.from('stdout ');
const STDERR = Buffer.from('stderr ');

/** Reads headers of lines in the CRI's log format one after another, into itself: nothing is made for a line. */
export class CriLogHeaderReader {
  readonly #times = new LineTimes();
  timeMs: number = Number.NaN;
  /** Where the time ends. */
  timeEnd = 0;
  stream: LogStream = 'stdout';
  partial = false;
  /** Where the content begins. */
  contentAt = 0;

  /** Whether there is a header between `start` and `end`. */
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
 * Reads the header of a line in the CRI's log format, `<RFC 3339 time> <stdout|stderr> <P|F>[:<tag>...] <content>`;
 * `undefined` where it is none (`parseCRILog`, `k8s.io/cri-client/pkg/logs`).
 */
export function parseCriLogLine(line: Uint8Array): CriLogHeader | undefined {
  const reader = new CriLogHeaderReader();
  if (!reader.read(line, 0, line.length)) return undefined;
  const { timeMs, stream, partial, contentAt, timeEnd } = reader;
  return { timeMs, timestamp: timestampAt(line, 0, timeEnd), stream, partial, contentOffset: contentAt };
}

/** A time as output has it. */
export function timestampAt(bytes: Uint8Array, start: number, end: number): string {
  return normalized(Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString('latin1'));
}

/** Reads an RFC 3339 time, of any precision and offset. */
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

/** The first space from `at` on, before `limit`; -1 for none. */
function spaceFrom(bytes: Uint8Array, at: number, limit: number): number {
  for (let index = at; index < limit; index++) if (bytes[index] === SPACE) return index;
  return -1;
}

function isAt(bytes: Uint8Array, at: number, text: Uint8Array): boolean {
  for (let index = 0; index < text.length; index++) if (bytes[at + index] !== text[index]) return false;
  return true;
}
