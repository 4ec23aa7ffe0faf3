import { goQuote } from './go-quote.ts';

/** Matches a header line: a name, which may contain spaces, and a value without control characters. */
const FIELD = /^[!#$%&'*+\-.^_`|~0-9A-Za-z ]+:[\t\x20-\x7e\x80-\xff]*$/;
/** Maximum number of bytes that are quoted from a header that starts with a space and is therefore malformed. */
const MAX_INITIAL_LINE = 80;

/**
 * Parses header or trailer fields line by line (`ReadMIMEHeader` in net/textproto). Keeps only the values that an
 * `httpGet` needs: `Content-Length`, `Transfer-Encoding`, `Trailer` and `Location`.
 */
export class HeaderFields {
  readonly contentLengths: string[] = [];
  readonly transferEncodings: string[] = [];
  readonly trailers: string[] = [];
  location: string | undefined;
  /** Go's error text if the fields are malformed. */
  fault: string | undefined;
  /**
   * Last field that was read. The field is not parsed until the next line is known, because that line may continue it.
   */
  #open: string | undefined;
  #any = false;

  /** Processes a line without its line ending. @returns whether the line ends the header or is malformed */
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

  /** Processes the beginning of an incomplete line. If the line cannot be a continuation, the last field is parsed. */
  begins(part: string): void {
    if (!part.startsWith(' ') && !part.startsWith('\t')) this.close();
  }

  /** Parses and stores the last field. */
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

  /** Stores a field. `name` must be in lower case. */
  take(name: string, value: string): void {
    if (name === 'content-length') this.contentLengths.push(value);
    else if (name === 'transfer-encoding') this.transferEncodings.push(value);
    else if (name === 'trailer') this.trailers.push(value);
    else if (name === 'location') this.location ??= value;
  }
}

/** Removes spaces and tabs at both ends. */
export function trimmed(text: string): string {
  const first = text.charCodeAt(0);
  const last = text.charCodeAt(text.length - 1);
  return first > 32 && last > 32 ? text : text.replace(/^[ \t]+/, '').replace(/(?<![ \t])[ \t]+$/, '');
}

function initialLine(line: string): string {
  return line.length > MAX_INITIAL_LINE ? 'message too large' : `malformed MIME header initial line: ${goQuote(line)}`;
}
