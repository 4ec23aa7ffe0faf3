import { type CriLogHeader, type LogStream, parseCriLogLine } from './cri-log-line.ts';
import type { LinePiece } from './split-lines.ts';

/** A piece of a container's output: some bytes of one stream. */
export interface LogChunk {
  readonly stream: LogStream;
  readonly data: Uint8Array;
}

/** Puts pieces of output that follow each other in one stream together. */
export class ChunkBatch {
  #stream: LogStream = 'stdout';
  #parts: Uint8Array[] = [];

  /** Takes the next piece; gives what was gathered where it is of the other stream. */
  add({ stream, data }: LogChunk): LogChunk | undefined {
    const before = stream === this.#stream ? undefined : this.take();
    this.#stream = stream;
    this.#parts.push(data);
    return before;
  }

  /** Gives what was gathered. */
  take(): LogChunk | undefined {
    const parts = this.#parts;
    if (parts.length === 0) return undefined;
    this.#parts = [];
    return { stream: this.#stream, data: Buffer.concat(parts) };
  }
}

/** Which output is wanted, and how. */
export interface LogFilterOptions {
  /** Nothing that was written before; everything where absent. */
  readonly sinceMs?: number | undefined;
  /** How many bytes are given at most, timestamps counted. */
  readonly limitBytes?: number | undefined;
  /** Whether each line begins with its time. */
  readonly timestamps?: boolean | undefined;
  /** One stream alone; both where absent (`PodLogsQuerySplitStreams`). */
  readonly stream?: LogStream | undefined;
}

const NEWLINE = 0x0a;

/**
 * Turns lines of a log file into output: takes the headers off, joins partial lines, leaves out what is not wanted, and
 * stops at the limit (`logWriter`, `k8s.io/cri-client/pkg/logs`).
 */
export class LogFilter {
  readonly #options: LogFilterOptions;
  #header: CriLogHeader | undefined;
  #remaining: number;
  #atLineStart = true;
  #malformedLines = 0;
  #wellFormedLines = 0;

  constructor(options: LogFilterOptions) {
    this.#options = options;
    this.#remaining = options.limitBytes ?? Number.POSITIVE_INFINITY;
  }

  /** Whether the limit is reached: nothing will be given any more. */
  get done(): boolean {
    return this.#remaining <= 0;
  }

  /** How many lines were no CRI log lines, and left out. */
  get malformedLines(): number {
    return this.#malformedLines;
  }

  /** How many lines were read, wanted or not. */
  get wellFormedLines(): number {
    return this.#wellFormedLines;
  }

  /** The output that a piece of a file holds; `undefined` where it is none, or not wanted. */
  accept({ bytes, startsLine, endsLine }: LinePiece): LogChunk | undefined {
    if (startsLine) {
      this.#header = parseCriLogLine(bytes);
      if (this.#header === undefined) this.#malformedLines++;
      else this.#wellFormedLines++;
    }
    const header = this.#header;
    if (header === undefined || this.done) return undefined;
    let content = startsLine ? bytes.subarray(header.contentOffset) : bytes;
    if (header.partial && endsLine && content.at(-1) === NEWLINE) content = content.subarray(0, -1);

    const { sinceMs = Number.NEGATIVE_INFINITY, stream = header.stream, timestamps } = this.#options;
    if (stream !== header.stream) return undefined;
    if (header.timeMs < sinceMs) {
      this.#atLineStart = true;
      return undefined;
    }
    const prefix = timestamps && this.#atLineStart ? `${header.timestamp} ` : '';
    this.#atLineStart = content.length === 0 || content.at(-1) === NEWLINE;
    const whole = prefix === '' ? content : Buffer.concat([Buffer.from(prefix), content]);
    const data = whole.subarray(0, Math.min(whole.length, this.#remaining));
    this.#remaining -= data.length;
    return data.length === 0 ? undefined : { stream: header.stream, data };
  }
}
