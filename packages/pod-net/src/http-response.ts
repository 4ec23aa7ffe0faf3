import { HeaderFields } from './header-fields.ts';
import { MAX_BODY_BYTES, type ResponseBody, responseBody } from './response-body.ts';
import { framingOf, type StatusLine, statusLine } from './response-head.ts';
import { wholeHead } from './whole-head.ts';

/** Outcome of one request. */
export type Exchange =
  | {
      readonly kind: 'answer';
      readonly status: number;
      /** Value of the `Location` header, one byte per character. */
      readonly location: string | undefined;
      /** Body of the response, cut at the limit. */
      readonly body: string;
      /** Go's error text, if the body ended early. Absent if the body is complete or was cut at the limit. */
      readonly bodyFault?: string;
    }
  | { readonly kind: 'fault'; readonly message: string };

/**
 * Returns the maximum number of body bytes to read for a response with the given head.
 * @param length the Content-Length, if known
 */
export type BodyLimit = (status: number, location: string | undefined, length: number | undefined) => number;

/**
 * Maximum size of a response head in bytes. Go's default is 10 MiB. This limit is lower because parsing a head blocks
 * the event loop, and only errors in the head are ever reported.
 */
const MAX_HEAD_BYTES = 256 * 1024;
/**
 * Maximum length of a fault's message. Go quotes the whole faulty line, of which only the beginning is useful in an
 * event.
 */
const MAX_FAULT_LENGTH = 4096;
const BROKEN = 'net/http: HTTP/1.x transport connection broken: ';

/**
 * Reads the response to a GET incrementally and returns the outcome as soon as it is known. A malformed response is
 * reported with Go's texts (`ReadResponse` and the errors of `persistConn` in net/http). The memory use is bounded for
 * any input.
 */
export class HttpResponseReader {
  readonly #limitOf: BodyLimit;
  #headBytes = 0;
  /** Received pieces of an incomplete line. */
  readonly #held: string[] = [];
  /** Parsed status line, or Go's error text for a malformed one. `undefined` until the line has arrived. */
  #first: StatusLine | string | undefined;
  #fields = new HeaderFields();
  #body: ResponseBody | undefined;

  constructor(limitOf: BodyLimit = () => MAX_BODY_BYTES) {
    this.#limitOf = limitOf;
  }

  /** Processes received bytes, without keeping a reference to `bytes`. @returns the outcome as soon as it is known */
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

  /** Processes the end of the connection. `words` is the error text if the connection broke. @returns the outcome */
  end(words?: string): Exchange {
    if (this.#body !== undefined) return this.#answer(this.#body.end(words));
    if (this.#headBytes === 0) return { kind: 'fault', message: words ?? 'EOF' };
    const rest = this.#held.join('');
    // Go parses an incomplete line as if it were complete. It reports the connection error only between two responses;
    // elsewhere, Go reports an unexpected EOF.
    const wasBetween = rest === '' && this.#first === undefined;
    if (rest !== '') this.#line(rest);
    this.#fields.close();
    return this.#broken(this.#fault ?? (wasBetween ? words : undefined) ?? 'unexpected EOF');
  }

  /** Returns the outcome of a response that is incomplete at the deadline. */
  expire(): Exchange {
    if (this.#body !== undefined) {
      return this.#answer('context deadline exceeded (Client.Timeout or context cancellation while reading body)');
    }
    const message = 'context deadline exceeded (Client.Timeout exceeded while awaiting headers)';
    return { kind: 'fault', message };
  }

  /**
   * Parses the head.
   * @returns the offset in `bytes` at which the body begins, or the outcome if the head is faulty, or `undefined` if
   * the head is incomplete
   */
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

  /** Processes one line of the head. @returns whether the line ends the head or is malformed */
  #line(line: string): boolean {
    if (this.#first !== undefined) return this.#fields.line(line);
    this.#first = statusLine(line);
    return false;
  }

  /**
   * Called at the end of a head. Creates the reader of the body or, after an informational (1xx) response, prepares for
   * the head of the next response.
   */
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
      // After status 101 no body follows. Go would treat the bytes of the new protocol as the body and wait for its
      // end.
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
