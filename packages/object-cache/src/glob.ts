/** A star (any number of characters), or a predicate for one character. */
type Token = '*' | ((char: string) => boolean);

/**
 * Matches a text without slashes as `filepath.Match` does: `*`, `?`, classes and escapes. A malformed pattern matches
 * nothing. Patterns come from users, so the running time is at most proportional to the product of both lengths.
 */
export function globMatches(pattern: string, text: string): boolean {
  const tokens = tokensOf(pattern);
  if (tokens === undefined) return false;
  const chars = [...text];
  // The last star, and the position at which the rest of the pattern is tried. Earlier stars need no backtracking.
  let star: { readonly token: number; at: number } | undefined;
  let token = 0;
  let at = 0;
  while (at < chars.length || token < tokens.length) {
    const expected = tokens[token];
    const char = chars[at];
    if (expected === '*') {
      star = { token: token++, at };
    } else if (expected !== undefined && char !== undefined && expected(char)) {
      token++;
      at++;
    } else if (star !== undefined && star.at < chars.length) {
      token = star.token + 1;
      at = ++star.at;
    } else return false;
  }
  return true;
}

/** Parses a pattern. Returns `undefined` if it is malformed. */
function tokensOf(pattern: string): readonly Token[] | undefined {
  const chars = [...pattern];
  const tokens: Token[] = [];
  for (let at = 0; at < chars.length; at++) {
    const char = chars[at] ?? '';
    if (char === '*') tokens.push('*');
    else if (char === '?') tokens.push(() => true);
    else if (char === '[') {
      const found = classAt(chars, at + 1);
      if (found === undefined) return undefined;
      tokens.push(found.matches);
      at = found.end;
    } else {
      const literal = char === '\\' ? chars[++at] : char;
      tokens.push((given) => given === literal);
    }
  }
  return tokens;
}

/**
 * Parses the class whose first member, or `^`, is at `start`. Returns its predicate and the position of its closing
 * bracket. A reversed range has no members.
 */
function classAt(
  chars: readonly string[],
  start: number,
): { readonly matches: (char: string) => boolean; readonly end: number } | undefined {
  let at = start;
  const negated = chars[at] === '^';
  if (negated) at++;
  /** The end of the longest range by its start: a class may have a mebibyte, and is evaluated for each character. */
  const ranges = new Map<string, string>();
  const member = (): string | undefined => {
    const char = chars[at++];
    if (char === '-' || char === ']') return undefined;
    return char === '\\' ? chars[at++] : char;
  };
  let isEmpty = true;
  while (chars[at] !== ']' || isEmpty) {
    const from = member();
    if (from === undefined) return undefined;
    let to: string | undefined = from;
    if (chars[at] === '-') {
      at++;
      to = member();
    }
    if (to === undefined) return undefined;
    isEmpty = false;
    if (to > (ranges.get(from) ?? '')) ranges.set(from, to);
  }
  const isMember = (char: string): boolean => {
    for (const [from, to] of ranges) if (from <= char && char <= to) return true;
    return false;
  };
  return { matches: (char) => isMember(char) !== negated, end: at };
}
