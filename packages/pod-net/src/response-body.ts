import { HeaderFields } from './header-fields.ts';
import type { Framing } from './response-head.ts';

/** Maximum number of bytes that are read of the last response's body (R3). */
export const MAX_BODY_BYTES: number = 10 * 1024;
/**
 * Maximum length of a chunk-size line with its extensions, and of the trailer. The limit is the size of Go's read
 * buffer.
 */
const MAX_LINE_BYTES = 4096;
/** Maximum overhead of the chunked encoding, in bytes beyond 16 bytes per chunk plus twice the data. */
const MAX_EXCESS_BYTES = 16 * 1024;

/** Incremental reader of a response body. */
export interface ResponseBody {
  /** Go's error text if the body is malformed. */
  readonly fault: string | undefined;
  /** Returns the kept bytes, decoded as UTF-8. */
  text(): string;
  /**
   * Processes received bytes starting at `from`, without keeping a reference to `bytes`.
   * @returns whether the body is complete or the limit is reached
   */
  push(bytes: Buffer, from: number): boolean;
  /**
   * Processes the end of the connection.
   * @param words the error text if the connection broke
   * @returns the error text if the body is incomplete
   */
  end(words: string | undefined): string | undefined;
}

/** Returns a reader for a body with the given framing. @param limit maximum number of bytes to keep */
export function responseBody(framing: Framing, limit: number): ResponseBody {
  const kept = new KeptBytes(limit);
  return framing === 'chunked'
    ? new ChunkedBody(kept)
    : new PlainBody(kept, framing === 'until close' ? Infinity : framing);
}

/** Stores the first bytes of a body. */
export class KeptBytes {
  readonly #limit: number;
  #bytes = '';

  constructor(limit: number) {
    this.#limit = limit;
  }

  get isFull(): boolean {
    return this.#bytes.length === this.#limit;
  }

  add(bytes: Buffer, from: number, to: number): void {
    this.#bytes += bytes.toString('latin1', from, Math.min(to, from + this.#limit - this.#bytes.length));
  }

  text(): string {
    return /[^\0-\x7f]/.test(this.#bytes) ? Buffer.from(this.#bytes, 'latin1').toString() : this.#bytes;
  }
}

/** Reads a body with a known length, or a body that ends when the connection ends. */
class PlainBody implements ResponseBody {
  readonly fault = undefined;
  readonly #kept: KeptBytes;
  #left: number;

  constructor(kept: KeptBytes, length: number) {
    this.#kept = kept;
    this.#left = length;
  }

  text(): string {
    return this.#kept.text();
  }

  push(bytes: Buffer, from: number): boolean {
    const size = Math.min(this.#left, bytes.length - from);
    this.#kept.add(bytes, from, from + size);
    this.#left -= size;
    return this.#left === 0 || this.#kept.isFull;
  }

  end(words: string | undefined): string | undefined {
    return words ?? (this.#left === Infinity ? undefined : 'unexpected EOF');
  }
}

/**
 * Reads a chunked body, which ends with a chunk of size 0 and a trailer (`net/http/internal/chunked.go`, `readTrailer`
 * in transfer.go).
 */
class ChunkedBody implements ResponseBody {
  readonly #kept: KeptBytes;
  fault: string | undefined;
  #part: 'size' | 'data' | 'data end' | 'trailer' | 'done' = 'size';
  /** Received part of an incomplete element: a size line, the CRLF after the data, or the trailer. */
  #held = '';
  #left = 0;
  #excess = 0;

  constructor(kept: KeptBytes) {
    this.#kept = kept;
  }

  text(): string {
    return this.#kept.text();
  }

  push(bytes: Buffer, from: number): boolean {
    let at = from;
    while (at < bytes.length && !this.#isDone()) at = this.#take(bytes, at);
    return this.#isDone();
  }

  end(words: string | undefined): string | undefined {
    if (this.#part !== 'trailer') return words ?? 'unexpected EOF';
    return this.#held.length < 2
      ? 'http: unexpected EOF reading trailer'
      : 'http: suspiciously long trailer after chunked body';
  }

  // When the limit of kept bytes is reached, all later bytes are ignored. Go may still report a fault in bytes that
  // arrived together with the last kept byte.
  #isDone(): boolean {
    return this.fault !== undefined || this.#part === 'done' || this.#kept.isFull;
  }

  /** Processes bytes of the current element. @returns the offset of the first byte that was not processed */
  #take(bytes: Buffer, from: number): number {
    switch (this.#part) {
      case 'size':
        return this.#size(bytes, from);
      case 'data': {
        const to = Math.min(bytes.length, from + this.#left);
        this.#kept.add(bytes, from, to);
        this.#left -= to - from;
        if (this.#left === 0) this.#part = 'data end';
        return to;
      }
      case 'data end': {
        const to = Math.min(bytes.length, from + 2 - this.#held.length);
        this.#held += bytes.toString('latin1', from, to);
        if (this.#held.length === 2) {
          if (this.#held !== '\r\n') this.fault = 'malformed chunked encoding';
          this.#part = 'size';
          this.#held = '';
        }
        return to;
      }
      default:
        this.#held += bytes.toString('latin1', from, Math.min(bytes.length, from + MAX_LINE_BYTES - this.#held.length));
        this.#trailer();
        return bytes.length;
    }
  }

  #size(bytes: Buffer, from: number): number {
    const newline = bytes.indexOf(10, from);
    const to = newline < 0 ? bytes.length : newline + 1;
    const isTooLong = this.#held.length + to - from > MAX_LINE_BYTES - (newline < 0 ? 1 : 0);
    if (isTooLong) this.fault = 'header line too long';
    else this.#held += bytes.toString('latin1', from, to);
    if (newline >= 0 && !isTooLong) {
      const line = this.#held;
      this.#held = '';
      this.fault = this.#begin(line);
    }
    return to;
  }

  /** Parses a chunk-size line. @returns Go's error text if the line is malformed */
  #begin(line: string): string | undefined {
    const cr = line.indexOf('\r');
    if (cr < 0) return 'chunked line ends with bare LF';
    if (cr !== line.length - 2) return 'invalid CR in chunked line';
    const [digits = ''] = line
      .slice(0, cr)
      .replace(/(?<![ \t])[ \t]+$/, '')
      .split(';', 1);
    if (digits === '') return 'empty hex number for chunk length';
    if (/[^0-9A-Fa-f]/.test(digits.slice(0, 17))) return 'invalid byte in chunk length';
    if (digits.length > 16) return 'http chunk length too large';
    this.#left = Number.parseInt(digits, 16);
    if (this.#left === 0) {
      this.#part = 'trailer';
      return undefined;
    }
    this.#part = 'data';
    this.#excess = Math.max(0, this.#excess + line.length - allowance(digits, this.#left));
    return this.#excess > MAX_EXCESS_BYTES ? 'chunked encoding contains too much non-data' : undefined;
  }

  #trailer(): void {
    if (this.#held.length < 2) return;
    if (this.#held.startsWith('\r\n')) {
      this.#part = 'done';
    } else if (this.#held.includes('\r\n\r\n')) {
      this.fault = trailerFault(this.#held);
      this.#part = 'done';
    } else if (this.#held.length === MAX_LINE_BYTES) {
      this.fault = 'http: suspiciously long trailer after chunked body';
    }
  }
}

/**
 * Returns the allowed overhead of one chunk. Go computes the overhead as int64, which overflows to a negative number
 * for sizes that no real chunk has.
 */
function allowance(digits: string, size: number): number {
  return 16 + (size < 2 ** 62 ? 2 * size : Number(BigInt.asIntN(64, 2n * BigInt(`0x${digits}`))));
}

function trailerFault(text: string): string | undefined {
  const fields = new HeaderFields();
  for (const line of text.split('\n')) {
    if (fields.line(line.endsWith('\r') ? line.slice(0, -1) : line)) break;
  }
  return fields.fault;
}
