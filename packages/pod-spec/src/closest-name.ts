/**
 * Returns the name that was probably meant: equal except for case, or at most two typing mistakes away. Of several
 * equally close names the first is returned.
 */
export function closestName(typed: string, names: Iterable<string>): string | undefined {
  let best: string | undefined;
  // In a short name, two mistakes may change everything, so fewer are allowed.
  let bestDistance = Math.min(2, Math.floor(typed.length / 2)) + 1;
  for (const name of names) {
    if (name.toLowerCase() === typed.toLowerCase()) return name;
    if (Math.abs(name.length - typed.length) >= bestDistance) continue;
    const distance = editDistance(typed, name);
    if (distance < bestDistance) {
      best = name;
      bestDistance = distance;
    }
  }
  return best;
}

/** Returns the Levenshtein distance: the number of letters to insert, delete or change. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (const [i, letter] of [...a].entries()) {
    const next = [i + 1];
    for (const [j, other] of [...b].entries()) {
      const substituted = (row[j] ?? 0) + (letter === other ? 0 : 1);
      next.push(Math.min(substituted, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
