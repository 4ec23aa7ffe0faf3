/** Returns the candidate nearest to a misspelt name; `undefined` if none is near enough. */
export function closest(name: string, candidates: readonly string[]): string | undefined {
  const limit = Math.max(1, Math.floor(name.length / 4));
  let best: string | undefined;
  let bestDistance = limit + 1;
  for (const candidate of candidates) {
    if (Math.abs(candidate.length - name.length) > limit) continue;
    const between = distance(name.toLowerCase(), candidate.toLowerCase());
    if (between < bestDistance) [best, bestDistance] = [candidate, between];
  }
  return best;
}

/** Returns the number of letters to change, add or remove (Levenshtein distance). */
function distance(from: string, to: string): number {
  const letters = to.split('');
  // Costs of producing each prefix of `to`, at first from an empty text, then from longer and longer prefixes of
  // `from`.
  let costs = letters.map((_, index) => index + 1);
  let last = letters.length;
  for (const [index, letter] of from.split('').entries()) {
    let before = index;
    last = index + 1;
    costs = costs.map((above, at) => {
      const change = before + (letter === letters[at] ? 0 : 1);
      before = above;
      last = Math.min(change, above + 1, last + 1);
      return last;
    });
  }
  return last;
}
