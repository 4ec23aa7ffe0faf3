import { HeaderFields } from './header-fields.ts';
import { MAX_BODY_BYTES, type ResponseBody, responseBody } from './response-body.ts';
import { framingOf, type StatusLine, statusLine } from './response-head.ts';
import { wholeHead } from './whole-head.ts';

/** What came of one request. */
export type Exchange =
  | {
      readonly kind: 'answer';
      readonly status: number;
      /** One byte a character. */
      readonly location: string | undefined;
      /** So much of it as was to be read. */
      readonly body: string;
      /** Why the body ended before its end; not where it was cut at the limit. */
      readonly bodyFault?: string;
    }
  | { readonly kind: 'fault'; readonly message: string };

/** How much of a body is read, in bytes, by what its head says; `length` where that is known. */
export type BodyLimit = (status: number, location: string | undefined, length: number | undefined) => number;

/** Far less than Go's default of 10 MiB: nothing of a head is told but its faults, and what it takes to read it holds up everybody else. */
const MAX_HEAD_BYTES = 256 * 1024;
/** Go tells a fault with the whole line that has it: so much of that is of use in an event. */
const MAX_FAULT_LENGTH = 4096;
const BROKEN = 'net/http: HTTP/1.x transport connection broken: ';

/**
 * Reads the response to a GET as it comes, and says what it is as soon as that is known; in Go's words where it is none
 * (`ReadResponse` and what `persistConn` makes of its errors, in net/http). What it holds is bounded, whatever comes.
 */
export class HttpResponseReader {
  readonly #limitOf: BodyLimit;
  #headBytes = 0;
  /** Of a line that is not whole. */
  readonly #held: string[] = [];
  /** Where it is a string, what is wrong with it. */
  #first: StatusLine | string | undefined;
  #fields = new HeaderFields();
  #body: ResponseBody | undefined;

  constructor(limitOf: BodyLimit = () => MAX_BODY_BYTES) {
    this.#limitOf = limitOf;
  }

  /** Takes what has come; nothing of `bytes` is held. @returns what the response is, once that is known */
  push(bytes: Buffer): Exchange | undefined {
    let from = 0;
    if (this.#body === undefined) {
      const next = this.#head(bytes);
      if (typeof next !== 'number') return next;
      from = next;
    }
    const body = this.#body;
    return body?.push(bytes, from) ? this.#answer(body.fault) : undefined;
  }

  /** No more comes: the peer has ended, or the connection broke, which is said in `words`. */
  end(words?: string): Exchange {
    if (this.#body !== undefined) return this.#answer(this.#body.end(words));
    if (this.#headBytes === 0) return { kind: 'fault', message: words ?? 'EOF' };
    const rest = this.#held.join('');
    // Go takes what came of a line for the line, and what broke the connection for its end, unless it stood between two responses.
    const wasBetween = rest === '' && this.#first === undefined;
    if (rest !== '') this.#line(rest);
    this.#fields.close();
    return this.#broken(this.#fault ?? (wasBetween ? words : undefined) ?? 'unexpected EOF');
  }

  /** Its time is up. */
  expire(): Exchange {
    if (this.#body !== undefined) {
      return this.#answer('context deadline exceeded (Client.Timeout or context cancellation while reading body)');
    }
    const message = 'context deadline exceeded (Client.Timeout exceeded while awaiting headers)';
    return { kind: 'fault', message };
  }

  /** @returns where in `bytes` the body begins; nothing where more of the head is to come */
  #head(bytes: Buffer): number | Exchange | undefined {
    const came = bytes.toString('latin1');
    const whole = this.#headBytes === 0 ? wholeHead(came, this.#fields) : undefined;
    if (whole !== undefined) {
      this.#headBytes = whole.length;
      this.#first = whole;
      this.#framed();
      return this.#fault === undefined ? whole.length : this.#broken(this.#fault);
    }
    this.#headBytes += came.length;
    if (this.#held.length > 0 && !came.includes('\n')) {
      this.#held.push(came);
      return this.#unlessTooLong();
    }
    const text = this.#held.length === 0 ? came : this.#held.join('') + came;
    this.#held.length = 0;
    let at = 0;
    for (let newline = text.indexOf('\n'); newline >= 0; newline = text.indexOf('\n', at)) {
      const isEnd = this.#line(text.slice(at, newline > at && text[newline - 1] === '\r' ? newline - 1 : newline));
      at = newline + 1;
      if (isEnd) this.#framed();
      if (this.#fault !== undefined) return this.#broken(this.#fault);
      if (this.#body === undefined) continue;
      this.#headBytes -= text.length - at;
      return this.#unlessTooLong() ?? at - (text.length - came.length);
    }
    if (at < text.length) {
      const rest = text.slice(at);
      this.#held.push(rest);
      if (this.#first !== undefined) this.#fields.begins(rest);
    }
    return this.#fault === undefined ? this.#unlessTooLong() : this.#broken(this.#fault);
  }

  get #fault(): string | undefined {
    return typeof this.#first === 'string' ? this.#first : this.#fields.fault;
  }

  /** @returns whether it is the last one of a head, or wrong */
  #line(line: string): boolean {
    if (this.#first !== undefined) return this.#fields.line(line);
    this.#first = statusLine(line);
    return false;
  }

  /** Goes on to the body; after a response that announces another, to that one. */
  #framed(): void {
    const first = this.#first;
    if (this.#fault !== undefined || first === undefined || typeof first === 'string') return;
    const framing = framingOf(first, this.#fields);
    if (typeof framing === 'object') {
      this.#fields.fault = framing.fault;
    } else if (first.status >= 100 && first.status < 200 && first.status !== 101) {
      this.#first = undefined;
      this.#fields = new HeaderFields();
    } else {
      // What comes after a switch to another protocol is no body: Go would read it, and wait for it.
      const length = typeof framing === 'number' ? framing : undefined;
      this.#body = responseBody(framing, this.#limitOf(first.status, this.#fields.location, length));
    }
  }

  #unlessTooLong(): Exchange | undefined {
    if (this.#headBytes <= MAX_HEAD_BYTES) return undefined;
    return this.#broken(`net/http: server response headers exceeded ${MAX_HEAD_BYTES} bytes; aborted`);
  }

  #answer(fault: string | undefined): Exchange {
    const { status } = this.#first as StatusLine;
    return {
      kind: 'answer',
      status,
      location: this.#fields.location,
      body: this.#body?.text() ?? '',
      ...(fault !== undefined && { bodyFault: fault }),
    };
  }

  #broken(fault: string): Exchange {
    return { kind: 'fault', message: `${BROKEN}${fault}`.slice(0, MAX_FAULT_LENGTH) };
  }
}
