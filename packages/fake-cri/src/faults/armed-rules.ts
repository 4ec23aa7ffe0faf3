/** How often a rule strikes. */
interface Bounds {
  /** How often at most; without bound by default. */
  readonly times?: number;
  /** How many fitting occasions go by before the first; 0 by default. */
  readonly skip?: number;
}

/** Rules of which the oldest that fits strikes, as often as it says. */
export class ArmedRules<R extends Bounds> {
  readonly #rules = new Set<{ readonly rule: R; skip: number; left: number }>();

  /** Adds a rule; the function that it returns takes it back. @throws TypeError where a number of it is negative */
  add(rule: R): () => void {
    const { skip = 0, times = Number.POSITIVE_INFINITY } = rule;
    if (skip < 0 || times < 0) throw new TypeError('a fault rule: times and skip must not be negative');
    const armed = { rule, skip, left: times };
    this.#rules.add(armed);
    return () => void this.#rules.delete(armed);
  }

  clear(): void {
    this.#rules.clear();
  }

  strike(fits: (rule: R) => boolean): R | undefined {
    for (const armed of this.#rules) {
      if (armed.left <= 0 || !fits(armed.rule)) continue;
      if (armed.skip > 0) {
        armed.skip--;
        continue;
      }
      armed.left--;
      if (armed.left <= 0) this.#rules.delete(armed);
      return armed.rule;
    }
    return undefined;
  }
}
