import type { OutputStream } from '../process/process.ts';

/** A line of output, or a part of a line that was too long or had no newline. */
export interface LogLine {
  readonly partial: boolean;
  readonly content: Uint8Array;
}

/** Maximum length of a log line in bytes, as in containerd (`max_container_log_line_size`). */
const MAX_LOG_LINE_BYTES: number = 16 * 1024;

const NO_BYTES = new Uint8Array();
const NEWLINE = 10;
const CARRIAGE_RETURN = 13;

/** Splits a stream of bytes into log lines. The boundaries of the writes have no effect on the result. */
export class LineSplitter {
  readonly #maxBytes: number;
  #rest: Uint8Array = NO_BYTES;

  constructor(maxBytes: number = MAX_LOG_LINE_BYTES) {
    this.#maxBytes = maxBytes;
  }

  /** Returns the lines that `data` completes, and the parts that have reached the maximum length. */
  push(data: Uint8Array): LogLine[] {
    const lines: LogLine[] = [];
    let rest: Uint8Array = this.#rest.length === 0 ? data : Buffer.concat([this.#rest, data]);
    for (;;) {
      const end = rest.indexOf(NEWLINE);
      const length = end < 0 ? rest.length : end;
      if (length > this.#maxBytes) {
        lines.push({ partial: true, content: new Uint8Array(rest.subarray(0, this.#maxBytes)) });
        rest = rest.subarray(this.#maxBytes);
      } else if (end < 0) {
        this.#rest = rest.length === 0 ? NO_BYTES : new Uint8Array(rest);
        return lines;
      } else {
        const contentEnd = end > 0 && rest[end - 1] === CARRIAGE_RETURN ? end - 1 : end;
        lines.push({ partial: false, content: new Uint8Array(rest.subarray(0, contentEnd)) });
        rest = rest.subarray(end + 1);
      }
    }
  }

  /** Returns the remaining output without a newline when the stream ends. */
  end(): LogLine | undefined {
    const content = this.#rest;
    this.#rest = NO_BYTES;
    return content.length === 0 ? undefined : { partial: true, content };
  }
}

/** Formats a wall-clock time in milliseconds with nine fractional digits: `2026-01-01T00:00:00.000000000Z`. */
export function logTimestamp(wallMs: number): string {
  const ms = Math.floor(wallMs);
  const nanoseconds = Math.floor((wallMs - ms) * 1e6);
  return `${new Date(ms).toISOString().slice(0, -1)}${String(nanoseconds).padStart(6, '0')}Z`;
}

/** Formats a line of a CRI log file: time, stream, `F` (full) or `P` (partial), content. */
export function formatLogLine(wallMs: number, stream: OutputStream, line: LogLine): Uint8Array {
  const head = `${logTimestamp(wallMs)} ${stream} ${line.partial ? 'P' : 'F'} `;
  return Buffer.concat([Buffer.from(head), line.content, Buffer.from('\n')]);
}
