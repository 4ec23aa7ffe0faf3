import { CriLogHeaderReader, type LogStream, timestampAt } from './cri-log-line.ts';
import { type JsonLogLine, looksLikeJson, MAX_JSON_LINE_BYTES, parseJsonLogLine } from './json-log-line.ts';
import { OutputBuffer } from './output-buffer.ts';

/** A part of a container's output, from one stream. */
export interface LogChunk {
  readonly stream: LogStream;
  readonly data: Uint8Array;
}

/** Selection and format of the output. */
export interface LogFilterOptions {
  /** Time before which output is skipped. Default: no limit. */
  readonly sinceMs?: number | undefined;
  /** Largest number of output bytes, including timestamps. */
  readonly limitBytes?: number | undefined;
  /** Largest number of log lines that are read; malformed lines do not count. */
  readonly maxLines?: number | undefined;
  /** Whether each line starts with its time. */
  readonly timestamps?: boolean | undefined;
  /** Selects one stream (`PodLogsQuerySplitStreams`). Default: both streams. */
  readonly stream?: LogStream | undefined;
  /** Whether streams need not be distinguished, which allows larger pieces. */
  readonly mixed?: boolean | undefined;
  /** Length from which a line is returned in several pieces. Default: 64 KiB. */
  readonly maxPieceBytes?: number | undefined;
}

const [NEWLINE, DOT, UPPER_Z] = [0x0a, 0x2e, 0x5a];
const NOTHING = new Uint8Array();
/** Number of bytes of the first malformed line that are kept for the message. */
const MAX_TOLD_BYTES = 256;
/** Length of a time in output, without the following space. */
const UTC_TIMESTAMP_BYTES = 30;

/**
 * Converts the blocks of log files to output: splits lines, removes their headers, joins partial lines, skips unwanted
 * lines, and stops at the limit (`logWriter`, `k8s.io/cri-client/pkg/logs`). Nothing but the output bytes is allocated
 * per line. Holds at most one block and `maxPieceBytes` or the longest line in Docker's format.
 */
export class LogFilter {
  readonly #options: LogFilterOptions;
  readonly #maxPieceBytes: number;
  readonly #header = new CriLogHeaderReader();
  readonly #output: OutputBuffer;
  /** The start of a line whose end has not arrived. */
  #held: Uint8Array = NOTHING;
  /** Whether the next bytes start a line of the file. */
  #startsLine = true;
  #hasHeader = false;
  /** Whether a line that arrives in pieces has had any content. */
  #hasContent = false;
  /** Time of a line that arrives in pieces. */
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

  /** Whether a limit is reached, so that no further output will be returned. */
  get done(): boolean {
    return this.#remaining <= 0 || this.#linesLeft < 0;
  }

  /** Number of skipped lines that were not log lines. */
  get malformedLines(): number {
    return this.#malformedLines;
  }

  /** Start of the first skipped line. */
  get firstMalformed(): string {
    return this.#firstMalformed;
  }

  /** Number of log lines that were read, including unwanted ones. */
  get wellFormedLines(): number {
    return this.#wellFormedLines;
  }

  /** Processes the next block of a file and returns its output. */
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
      // The start of the line is copied, so that a whole block is not kept in memory for one line.
      if (joined.length < limit) this.#held = joined === rest ? rest.slice() : joined;
      else this.#take(joined, false);
    }
    return this.#output.take();
  }

  /** Processes the end of a file whose last line is incomplete; the next block starts a new line. */
  endFile(): readonly LogChunk[] {
    if (this.#held.length > 0 || !this.#startsLine) this.#take(this.#held, true);
    this.#startsLine = true;
    return this.#output.take();
  }

  #take(piece: Uint8Array, endsLine: boolean): void {
    this.#held = NOTHING;
    if (!this.done) this.#line(piece, 0, piece.length, endsLine);
  }

  /** Processes a line, or a piece of a line that is too long. */
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
    // A piece without content, such as the end of a partial line, does not change the state. A whole line without
    // content ends an output line.
    if (to > from) this.#atLineStart = bytes[to - 1] === NEWLINE;
    else if (!this.#hasContent) this.#atLineStart = endsLine;
    this.#write(bytes, from, to);
  }

  #countLine(): void {
    this.#wellFormedLines++;
    this.#linesLeft--;
  }

  /** Processes a line without a CRI header: a line in Docker's format or a malformed line. */
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

  /**
   * Writes the timestamp of a line.
   * @param start start of the line; negative if the line started in an earlier piece
   */
  #timestamp(bytes: Uint8Array, start: number): void {
    const { timeEnd } = this.#header;
    const isAsOutputHasIt =
      start >= 0 &&
      timeEnd - start === UTC_TIMESTAMP_BYTES &&
      bytes[timeEnd - 1] === UPPER_Z &&
      bytes[start + 19] === DOT;
    // The written bytes include the space after the timestamp.
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
