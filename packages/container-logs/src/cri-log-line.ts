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

const SPACE = 0x20;
/** A timestamp of 35 characters, a stream, and as many tags as anybody will ever think of. */
const MAX_HEADER_BYTES = 256;
const TIMESTAMP = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:[.,](\d{1,9})\d*)?(Z|[+-]\d\d:\d\d)$/;

/**
 * Reads the header of a line in the CRI's log format, `<RFC 3339 time> <stdout|stderr> <P|F>[:<tag>...] <content>`;
 * `undefined` where it is none (`parseCRILog`, `k8s.io/cri-client/pkg/logs`).
 */
export function parseCriLogLine(line: Uint8Array): CriLogHeader | undefined {
  const timeEnd = line.indexOf(SPACE);
  const streamEnd = line.indexOf(SPACE, timeEnd + 1);
  const tagsEnd = line.indexOf(SPACE, streamEnd + 1);
  if (timeEnd < 0 || streamEnd < 0 || tagsEnd < 0 || tagsEnd > MAX_HEADER_BYTES) return undefined;
  const [time = '', stream, tags = ''] = Buffer.from(line.buffer, line.byteOffset, tagsEnd)
    .toString('latin1')
    .split(' ');
  if (stream !== 'stdout' && stream !== 'stderr') return undefined;
  const parsed = parseTimestamp(time);
  if (!parsed) return undefined;
  const partial = tags.split(':', 1)[0] === 'P';
  return { ...parsed, stream, partial, contentOffset: tagsEnd + 1 };
}

/** Reads an RFC 3339 time, of any precision and offset. */
export function parseTimestamp(text: string): Pick<CriLogHeader, 'timeMs' | 'timestamp'> | undefined {
  const [, seconds = '', fraction = '', offset = ''] = TIMESTAMP.exec(text) ?? [];
  const nanoseconds = fraction.padEnd(9, '0');
  const timeMs = Date.parse(`${seconds}${offset}`) + Number(nanoseconds) / 1e6;
  if (Number.isNaN(timeMs)) return undefined;
  return { timeMs, timestamp: `${seconds}.${nanoseconds}${/^[+-]00:00$/.test(offset) ? 'Z' : offset}` };
}
