import { CriLogHeaderReader, type LogStream, timestampAt } from './cri-log-line.ts';
import { type JsonLogLine, looksLikeJson, MAX_JSON_LINE_BYTES, parseJsonLogLine } from './json-log-line.ts';
import { OutputBuffer } from './output-buffer.ts';

/** A piece of a container's output: some bytes of one stream. */
export interface LogChunk {
  readonly stream: LogStream;
  readonly data: Uint8Array;
}

/** Which output is wanted, and how. */
export interface LogFilterOptions {
  /** Nothing that was written before; everything where absent. */
  readonly sinceMs?: number | undefined;
  /** How many bytes are given at most, timestamps counted. */
  readonly limitBytes?: number | undefined;
  /** How many lines of the files are looked at at most; what is no line of a log is not counted. */
  readonly maxLines?: number | undefined;
  /** Whether each line begins with its time. */
  readonly timestamps?: boolean | undefined;
  /** One stream alone; both where absent (`PodLogsQuerySplitStreams`). */
  readonly stream?: LogStream | undefined;
  /** Whether it does not matter which stream output is of: then it comes in larger pieces. */
  readonly mixed?: boolean | undefined;
  /** From which length on a line is handed on in pieces; 64 KiB by default. */
  readonly maxPieceBytes?: number | undefined;
}

const [NEWLINE, DOT, UPPER_Z] = [0x0a, 0x2e, 0x5a];
const NOTHING = new Uint8Array();
/** So much of the first line that is none is kept. */
const MAX_TOLD_BYTES = 256;
/** A time as output has it takes 30 bytes, and a space. */
const UTC_TIMESTAMP_BYTES = 30;

/**
 * Turns the blocks of log files into output: finds the lines, takes their headers off, joins partial lines, leaves out what is
 * not wanted, and stops at the limit (`logWriter`, `k8s.io/cri-client/pkg/logs`). Nothing is made for a line but its bytes in the
 * output. Holds no more than `maxPieceBytes`, or the longest line in Docker's format, and one block.
 */
export class LogFilter {
  readonly #options: LogFilterOptions;
  readonly #maxPieceBytes: number;
  readonly #header = new CriLogHeaderReader();
  readonly #output: OutputBuffer;
  /** The beginning of a line whose end has not come. */
  #held: Uint8Array = NOTHING;
  /** Whether the next bytes begin a line of the file. */
  #startsLine = true;
  #hasHeader = false;
  /** Whether a line that comes in pieces has had any content. */
  #hasContent = false;
  /** The time of a line that comes in pieces. */
  #timeText = '';
  #remaining: number;
  #linesLeft: number;
  #atLineStart = true;
  #malformedLines = 0;
  #firstMalformed = '';
  #wellFormedLines = 0;

  constructor(options: LogFilterOptions) {
    this.#options = options;
    this.#maxPieceBytes = options.maxPieceBytes ?? 64 * 1024;
    this.#remaining = options.limitBytes ?? Number.POSITIVE_INFINITY;
    this.#linesLeft = options.maxLines ?? Number.POSITIVE_INFINITY;
    this.#output = new OutputBuffer(options.mixed ?? false);
  }

  /** Whether there is enough: nothing will be given any more. */
  get done(): boolean {
    return this.#remaining <= 0 || this.#linesLeft < 0;
  }

  /** How many lines were no log lines, and left out. */
  get malformedLines(): number {
    return this.#malformedLines;
  }

  /** The beginning of the first of them. */
  get firstMalformed(): string {
    return this.#firstMalformed;
  }

  /** How many lines were read, wanted or not. */
  get wellFormedLines(): number {
    return this.#wellFormedLines;
  }

  /** Takes the next block of a file; gives the output in it. */
  push(block: Uint8Array): readonly LogChunk[] {
    this.#output.reserve(this.#held.length + block.length);
    let start = 0;
    let end = block.indexOf(NEWLINE);
    if (end >= 0 && this.#held.length > 0) {
      this.#take(concat(this.#held, block.subarray(0, end + 1)), true);
      start = end + 1;
      end = block.indexOf(NEWLINE, start);
    }
    for (; end >= 0 && !this.done; end = block.indexOf(NEWLINE, start)) {
      this.#line(block, start, end + 1, true);
      start = end + 1;
    }
    if (!this.done) {
      const rest = start === 0 ? block : block.subarray(start);
      const joined = concat(this.#held, rest);
      const isJson = this.#startsLine && looksLikeJson(joined, 0);
      const limit = isJson ? Math.max(this.#maxPieceBytes, MAX_JSON_LINE_BYTES) : this.#maxPieceBytes;
      // A copy: a block is not kept for a line of it.
      if (joined.length < limit) this.#held = joined === rest ? rest.slice() : joined;
      else this.#take(joined, false);
    }
    return this.#output.take();
  }

  /** The file has ended, though its last line has not; what comes next is another one's. */
  endFile(): readonly LogChunk[] {
    if (this.#held.length > 0 || !this.#startsLine) this.#take(this.#held, true);
    this.#startsLine = true;
    return this.#output.take();
  }

  #take(piece: Uint8Array, endsLine: boolean): void {
    this.#held = NOTHING;
    if (!this.done) this.#line(piece, 0, piece.length, endsLine);
  }

  /** A line, or a piece of one that is too long. */
  #line(bytes: Uint8Array, start: number, end: number, endsLine: boolean): void {
    const header = this.#header;
    const startsLine = this.#startsLine;
    this.#startsLine = endsLine;
    let from = start;
    if (startsLine) {
      if (this.#linesLeft <= 0) {
        this.#linesLeft = -1;
        return;
      }
      this.#hasHeader = header.read(bytes, start, end);
      if (this.#hasHeader) this.#countLine();
      else this.#otherLine(bytes, start, end, endsLine);
      from = header.contentAt;
    }
    if (!this.#hasHeader) return;
    const { sinceMs, stream, timestamps } = this.#options;
    if (stream !== undefined && stream !== header.stream) return;
    if (sinceMs !== undefined && header.timeMs < sinceMs) {
      this.#atLineStart = true;
      return;
    }
    const to = header.partial && endsLine && end > from && bytes[end - 1] === NEWLINE ? end - 1 : end;
    if (timestamps && startsLine && !endsLine) this.#timeText = timestampAt(bytes, start, header.timeEnd);
    if (timestamps && this.#atLineStart) this.#timestamp(bytes, startsLine ? start : -1);
    if (startsLine) this.#hasContent = false;
    if (to > from) this.#hasContent = true;
    // A piece without content, such as a partial line's end alone, leaves things as they are; a line without any ends one.
    if (to > from) this.#atLineStart = bytes[to - 1] === NEWLINE;
    else if (!this.#hasContent) this.#atLineStart = endsLine;
    this.#write(bytes, from, to);
  }

  #countLine(): void {
    this.#wellFormedLines++;
    this.#linesLeft--;
  }

  /** A line without the CRI's header: Docker's, or none. */
  #otherLine(bytes: Uint8Array, start: number, end: number, endsLine: boolean): void {
    const line = bytes.subarray(start, end);
    const entry = endsLine && looksLikeJson(bytes, start) ? parseJsonLogLine(line) : undefined;
    if (entry !== undefined) {
      this.#countLine();
      this.#jsonLine(entry);
      return;
    }
    if (this.#malformedLines === 0) this.#firstMalformed = Buffer.from(line.subarray(0, MAX_TOLD_BYTES)).toString();
    this.#malformedLines++;
  }

  #jsonLine({ timeMs, timestamp, stream, content }: JsonLogLine): void {
    const { sinceMs, timestamps } = this.#options;
    if (this.#options.stream !== undefined && this.#options.stream !== stream) return;
    if (sinceMs !== undefined && timeMs < sinceMs) {
      this.#atLineStart = true;
      return;
    }
    this.#header.stream = stream;
    if (timestamps && this.#atLineStart) {
      const text = Buffer.from(`${timestamp} `);
      this.#write(text, 0, text.length);
    }
    this.#atLineStart = content.length === 0 || content.at(-1) === NEWLINE;
    this.#write(content, 0, content.length);
  }

  /** @param start where the line begins; below 0 where it is of a piece before */
  #timestamp(bytes: Uint8Array, start: number): void {
    const { timeEnd } = this.#header;
    const isAsOutputHasIt =
      start >= 0 &&
      timeEnd - start === UTC_TIMESTAMP_BYTES &&
      bytes[timeEnd - 1] === UPPER_Z &&
      bytes[start + 19] === DOT;
    // With the space that follows it.
    if (isAsOutputHasIt) this.#write(bytes, start, timeEnd + 1);
    else {
      const text = Buffer.from(`${start < 0 ? this.#timeText : timestampAt(bytes, start, timeEnd)} `);
      this.#write(text, 0, text.length);
    }
  }

  #write(bytes: Uint8Array, from: number, to: number): void {
    const length = Math.min(to - from, this.#remaining);
    if (length <= 0) return;
    this.#output.write(this.#header.stream, bytes, from, from + length);
    this.#remaining -= length;
  }
}

function concat(a: Uint8Array, b: Uint8Array): Uint8Array {
  return a.length === 0 ? b : Buffer.concat([a, b]);
}
