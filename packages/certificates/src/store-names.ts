const DATE = /^-(\d{4}(?:-\d\d){5})\.pem$/;

/** Returns the file names that are pairs of a store, the oldest first. */
export function datedNames(prefix: string, names: readonly string[]): readonly string[] {
  return names.filter((name) => name.startsWith(prefix) && DATE.test(name.slice(prefix.length))).sort();
}

/**
 * Returns the name of a new pair: `<prefix>-2026-01-31-12-00-00.pem`, in UTC. The name sorts after all known names,
 * even if two pairs are stored within a second or the clock was set back.
 */
export function datedName(prefix: string, nowMs: number, known: readonly string[]): string {
  const at = (ms: number): string =>
    `${prefix}-${new Date(ms).toISOString().slice(0, 19).replace('T', '-').replaceAll(':', '-')}.pem`;
  const newest = known.at(-1);
  const name = at(nowMs);
  if (newest === undefined || name > newest) return name;
  const [year, month, day, hour, minute, second] = newest
    .slice(prefix.length + 1, -4)
    .split('-')
    .map(Number);
  return at(Date.UTC(year ?? 0, (month ?? 1) - 1, day, hour, minute, second) + 1000);
}
