import { type HeaderFields, trimmed } from './header-fields.ts';

/**
 * Matches a common response head, including the empty line at its end. Heads that need line-by-line parsing do not
 * match.
 */
const HEAD =
  /^HTTP\/1\.([01]) ([2-5]\d\d)(?: [^\r\n]*)?\r\n(?:[!#$%&'*+\-.^_`|~0-9A-Za-z]+:[\t\x20-\x7e\x80-\xff]*\r\n)*\r\n/;
/**
 * Matches the header fields that a probe needs. The expression is global: the loop that uses it must run until there is
 * no match, which resets `lastIndex`.
 */
const ASKED_FOR = /^(content-length|transfer-encoding|trailer|location):(.*)\r$/gim;

/** A response head that arrived in one piece. */
export interface WholeHead {
  readonly status: number;
  readonly knowsChunks: boolean;
  readonly length: number;
}

/**
 * Parses the head at the beginning of a text and passes its fields to `fields`. Returns `undefined` if the head is
 * incomplete or unusual; the caller then parses the head line by line.
 */
export function wholeHead(text: string, fields: HeaderFields): WholeHead | undefined {
  const found = HEAD.exec(text);
  if (found === null) return undefined;
  const head = found[0];
  for (let field = ASKED_FOR.exec(head); field !== null; field = ASKED_FOR.exec(head)) {
    fields.take((field[1] ?? '').toLowerCase(), trimmed(field[2] ?? ''));
  }
  return { status: Number(found[2]), knowsChunks: found[1] === '1', length: head.length };
}
