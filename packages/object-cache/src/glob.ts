/** Whether one character is meant; a star is any number of them. */
type Token = '*' | ((char: string) => boolean);

/**
 * `filepath.Match` for a text without slashes: `*`, `?`, classes and escapes. A pattern that is malformed matches nothing.
 * Patterns come from users: the time it takes grows with the product of both lengths, and no faster.
 */
export function globMatches(pattern: string, text: string): boolean {
  const tokens = tokensOf(pattern);
  if (tokens === undefined) return false;
  const chars = [...text];
  // The last star that was met, and where what follows it is tried: no earlier star needs to be looked at again.
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

/** `undefined` where the pattern is malformed. */
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

/** The class whose first member, or `^`, is at `start`, and where its bracket is. A range that goes backwards has no member. */
function classAt(
  chars: readonly string[],
  start: number,
): { readonly matches: (char: string) => boolean; readonly end: number } | undefined {
  let at = start;
  const negated = chars[at] === '^';
  if (negated) at++;
  /** By where each range begins, where the longest ends: a class may be of a mebibyte, and is asked for each character. */
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
