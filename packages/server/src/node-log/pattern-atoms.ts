import { firstOf, PatternError } from './pattern-error.ts';

const POSIX: ReadonlySet<string> = new Set(
  'alnum alpha ascii blank cntrl digit graph lower print punct space upper word xdigit'.split(' '),
);

const CONTROLS: Readonly<Record<string, string>> = { a: '\x07', f: '\f', n: '\n', r: '\r', t: '\t', v: '\v' };

/** Returns the text after the escape at the start of `text`. @throws PatternError */
export function escapeEnd(text: string): string {
  return setEnd(text) ?? letter(text, text).rest;
}

/** Returns the text after the character class at the start of `text`. @throws PatternError */
export function classEnd(text: string): string {
  let rest = text.slice(text[1] === '^' ? 2 : 1);
  for (let isFirst = true; isFirst || rest[0] !== ']'; isFirst = false) {
    const set = posixEnd(rest) ?? setEnd(rest);
    if (set !== undefined) {
      rest = set;
      continue;
    }
    const low = letter(rest, text);
    if (/^-[^\]]/.test(low.rest)) {
      const high = letter(low.rest.slice(1), text);
      if (high.code < low.code) {
        throw new PatternError('invalid character class range', rest.slice(0, rest.length - high.rest.length));
      }
      rest = high.rest;
    } else {
      rest = low.rest;
    }
  }
  return rest.slice(1);
}

/**
 * Returns the text after the POSIX class, such as `[:alpha:]`, at the start of `text`. Returns `undefined` if there is
 * none. @throws PatternError
 */
function posixEnd(text: string): string | undefined {
  const [whole, name = ''] = /^\[:(?:\^?([\s\S]*?)):\]/.exec(text) ?? [];
  if (whole === undefined) return undefined;
  if (!POSIX.has(name)) throw new PatternError('invalid character class range', whole);
  return text.slice(whole.length);
}

/**
 * Returns the text after the set of characters, such as `\d`, `\pL` or `\p{Greek}`, at the start of `text`. Returns
 * `undefined` if there is none. @throws PatternError
 */
function setEnd(text: string): string | undefined {
  if (/^\\[dswDSW]/.test(text)) return text.slice(2);
  if (!/^\\[pP]/.test(text)) return undefined;
  const [whole = text, name] = /^\\[pP](?:\{\^?([^}]*)\}|[^{])/u.exec(text) ?? [];
  if (!/^[A-Za-z][\w -]*$/.test(name ?? whole.slice(2))) throw new PatternError('invalid character class range', whole);
  return text.slice(whole.length);
}

/**
 * Reads one character of a character class, escaped or not.
 * @param place the text to report if the character is missing
 */
function letter(text: string, place: string): { readonly code: number; readonly rest: string } {
  if (text === '') throw new PatternError('missing closing ]', place);
  const first = text[0] === '\\' ? escapedLetter(text) : { length: firstOf(text).length, letter: firstOf(text) };
  return { code: first.letter.codePointAt(0) ?? 0, rest: text.slice(first.length) };
}

function escapedLetter(text: string): { readonly length: number; readonly letter: string } {
  const next = firstOf(text.slice(1));
  if (next === '') throw new PatternError('trailing backslash at end of expression', '');
  const control = CONTROLS[next];
  if (control !== undefined) return { length: 2, letter: control };
  // An escaped ASCII character other than letters and digits means the character itself.
  if (next <= '\x7f' && !/[A-Za-z0-9]/.test(next)) return { length: 2, letter: next };
  const [octal] = /^\\(?:0[0-7]{0,2}|[1-7][0-7]{1,2})/.exec(text) ?? [];
  if (octal !== undefined)
    return { length: octal.length, letter: String.fromCodePoint(Number.parseInt(octal.slice(1), 8)) };
  const [hex, braced, pair] = /^\\x(?:\{0*([0-9a-fA-F]{1,6})\}|([0-9a-fA-F]{2}))/.exec(text) ?? [];
  const code = Number.parseInt(braced ?? pair ?? '', 16);
  if (hex !== undefined && code <= 0x10ffff) return { length: hex.length, letter: String.fromCodePoint(code) };
  throw new PatternError('invalid escape sequence', text.slice(0, 1) + wrongEscape(text.slice(1)));
}

/** Returns the part of an invalid escape that Go's error message contains. */
function wrongEscape(text: string): string {
  const [digits = ''] = /^x\{[0-9a-fA-F]*/.exec(text) ?? [];
  if (digits === '') {
    const first = firstOf(text);
    if (first !== 'x') return first;
    const second = firstOf(text.slice(1));
    return second === '' ? first : first + second + firstOf(text.slice(1 + second.length));
  }
  let code = 0;
  for (let at = 2; at < digits.length; at++) {
    code = code * 16 + Number.parseInt(digits.charAt(at), 16);
    if (code > 0x10ffff) return text.slice(0, at + 1);
  }
  return digits + firstOf(text.slice(digits.length));
}
