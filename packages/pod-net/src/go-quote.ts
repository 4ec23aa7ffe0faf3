const ESCAPES: ReadonlyMap<string, string> = new Map([
  ['"', '\\"'],
  ['\\', '\\\\'],
  ['\x07', '\\a'],
  ['\b', '\\b'],
  ['\f', '\\f'],
  ['\n', '\\n'],
  ['\r', '\\r'],
  ['\t', '\\t'],
  ['\v', '\\v'],
]);

const PLAIN = /^[ !#-[\]-~]*$/;
/** Matches a multi-byte UTF-8 character, or a single byte that must be escaped. */
const SPECIAL =
  /[\xc2-\xdf][\x80-\xbf]|(?:\xe0[\xa0-\xbf]|[\xe1-\xec\xee\xef][\x80-\xbf]|\xed[\x80-\x9f])[\x80-\xbf]|(?:\xf0[\x90-\xbf]|[\xf1-\xf3][\x80-\xbf]|\xf4[\x80-\x8f])[\x80-\xbf]{2}|[^ !#-[\]-~]/g;
const PRINTABLE = /[\p{L}\p{M}\p{N}\p{P}\p{S}]/u;

/** Maximum number of bytes that {@link goQuote} quotes; the rest is dropped, so that messages have a limited length. */
export const MAX_QUOTED = 4096;

/** Like {@link goQuoteAll}, but quotes at most {@link MAX_QUOTED} bytes. */
export function goQuote(bytes: string): string {
  return goQuoteAll(bytes.slice(0, MAX_QUOTED));
}

/** Quotes bytes (one per character) as Go's `%q` does. Bytes that are not valid UTF-8 are written as `\xff`. */
export function goQuoteAll(bytes: string): string {
  return PLAIN.test(bytes) ? `"${bytes}"` : `"${bytes.replace(SPECIAL, escaped)}"`;
}

function escaped(bytes: string): string {
  if (bytes.length === 1) return ESCAPES.get(bytes) ?? `\\x${hex(bytes.charCodeAt(0), 2)}`;
  const character = Buffer.from(bytes, 'latin1').toString();
  if (PRINTABLE.test(character)) return character;
  const code = character.codePointAt(0) ?? 0;
  return code < 0x10000 ? `\\u${hex(code, 4)}` : `\\U${hex(code, 8)}`;
}

function hex(code: number, digits: number): string {
  return code.toString(16).padStart(digits, '0');
}
