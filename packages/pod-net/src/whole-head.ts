import { type HeaderFields, trimmed } from './header-fields.ts';

/** A head as nearly all are, with nothing in it that would have to be looked at line by line, and the blank line at its end. */
const HEAD =
  /^HTTP\/1\.([01]) ([2-5]\d\d)(?: [^\r\n]*)?\r\n(?:[!#$%&'*+\-.^_`|~0-9A-Za-z]+:[\t\x20-\x7e\x80-\xff]*\r\n)*\r\n/;
/** What a probe asks for of it. It is looked for until there is no more, so that who comes next begins at the beginning. */
const ASKED_FOR = /^(content-length|transfer-encoding|trailer|location):(.*)\r$/gim;

/** The head of a response that came as a whole. */
export interface WholeHead {
  readonly status: number;
  readonly knowsChunks: boolean;
  readonly length: number;
}

/**
 * The head at the beginning of a text, whose fields are taken by `fields`; `undefined` where it is not whole, or unlike others: what it is
 * then its lines say.
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
