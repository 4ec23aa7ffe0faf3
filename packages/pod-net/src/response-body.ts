import { HeaderFields } from './header-fields.ts';
import type { Framing } from './response-head.ts';

/** So much of the last body is read; the rest stays unread (R3). */
export const MAX_BODY_BYTES: number = 10 * 1024;
/** Of the size of a chunk with its extensions, and of a trailer: what Go's reader holds at once. */
const MAX_LINE_BYTES = 4096;
/** What chunks may have of what is no data, beyond 16 bytes each and twice their data. */
const MAX_EXCESS_BYTES = 16 * 1024;

/** A body as it comes. */
export interface ResponseBody {
  /** What is wrong with it, in Go's words. */
  readonly fault: string | undefined;
  /** At most so much as was asked for, as UTF-8. */
  text(): string;
  /** Takes what has come, from a place on; nothing of `bytes` is held. @returns whether that was all that is wanted */
  push(bytes: Buffer, from: number): boolean;
  /** No more comes. @returns what is wrong with that, where it is not the end; `words` are those of a broken connection */
  end(words: string | undefined): string | undefined;
}

/** @param limit how many bytes of it are read */
export function responseBody(framing: Framing, limit: number): ResponseBody {
  const kept = new KeptBytes(limit);
  return framing === 'chunked'
    ? new ChunkedBody(kept)
    : new PlainBody(kept, framing === 'until close' ? Infinity : framing);
}

/** The first bytes of a body. */
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

/** Of a length that is known, or as long as the connection. */
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

/** In chunks, ended by one of no size and a trailer (`net/http/internal/chunked.go`, `readTrailer` in transfer.go). */
class ChunkedBody implements ResponseBody {
  readonly #kept: KeptBytes;
  fault: string | undefined;
  #part: 'size' | 'data' | 'data end' | 'trailer' | 'done' = 'size';
  /** Of a size, the end of data or a trailer, what has come of it. */
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

  // Once as much is there as is kept, what follows does not matter: Go may see a fault of what came along with it.
  #isDone(): boolean {
    return this.fault !== undefined || this.#part === 'done' || this.#kept.isFull;
  }

  /** @returns where what is next begins */
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

  /** @returns what is wrong with the line */
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

/** What a chunk may have besides its data; Go's number has 64 bits, and is negative for sizes that no chunk has. */
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
