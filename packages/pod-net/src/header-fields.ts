import { goQuote } from './go-quote.ts';

/** A name, which may have spaces in it, and a value without control characters. */
const FIELD = /^[!#$%&'*+\-.^_`|~0-9A-Za-z ]+:[\t\x20-\x7e\x80-\xff]*$/;
/** So much is quoted of a first line that begins with a space. */
const MAX_INITIAL_LINE = 80;

/** Header fields, or those of a trailer, line by line; of a response's fields those that a probe asks for (`ReadMIMEHeader` in net/textproto). */
export class HeaderFields {
  readonly contentLengths: string[] = [];
  readonly transferEncodings: string[] = [];
  readonly trailers: string[] = [];
  location: string | undefined;
  /** What is wrong with them, in Go's words. */
  fault: string | undefined;
  /** A field whose next line is not known yet: it may go on there. */
  #open: string | undefined;
  #any = false;

  /** @returns whether this line, without its end, is the last one */
  line(line: string): boolean {
    const isMore = line.startsWith(' ') || line.startsWith('\t');
    if (isMore && this.#open !== undefined) {
      this.#open += ` ${trimmed(line)}`;
      return false;
    }
    this.close();
    if (this.fault !== undefined || line === '') return true;
    if (isMore && !this.#any) this.fault = initialLine(line);
    else if (!line.includes(':')) this.fault = `malformed MIME header: missing colon: ${goQuote(line)}`;
    else this.#open = trimmed(line);
    this.#any = true;
    return this.fault !== undefined;
  }

  /** So much of the next line is known. */
  begins(part: string): void {
    if (!part.startsWith(' ') && !part.startsWith('\t')) this.close();
  }

  /** No line goes on with the field that was last. */
  close(): void {
    const field = this.#open;
    if (field === undefined) return;
    this.#open = undefined;
    if (!FIELD.test(field)) {
      this.fault = `malformed MIME header line: ${goQuote(field)}`;
      return;
    }
    const colon = field.indexOf(':');
    switch (colon) {
      case 'trailer'.length:
      case 'location'.length:
      case 'content-length'.length:
      case 'transfer-encoding'.length:
        this.take(field.slice(0, colon).toLowerCase(), field.slice(colon + 1).replace(/^[ \t]+/, ''));
    }
  }

  /** A field whose name is in lower case, and its value as it is told. */
  take(name: string, value: string): void {
    if (name === 'content-length') this.contentLengths.push(value);
    else if (name === 'transfer-encoding') this.transferEncodings.push(value);
    else if (name === 'trailer') this.trailers.push(value);
    else if (name === 'location') this.location ??= value;
  }
}

/** Without spaces and tabs around it. */
export function trimmed(text: string): string {
  const first = text.charCodeAt(0);
  const last = text.charCodeAt(text.length - 1);
  return first > 32 && last > 32 ? text : text.replace(/^[ \t]+/, '').replace(/(?<![ \t])[ \t]+$/, '');
}

function initialLine(line: string): string {
  return line.length > MAX_INITIAL_LINE ? 'message too large' : `malformed MIME header initial line: ${goQuote(line)}`;
}
