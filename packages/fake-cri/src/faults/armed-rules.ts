/** Number of times that a rule applies. */
interface Bounds {
  /** Maximum number of calls, events or requests to which the rule applies. Default: unlimited. */
  readonly times?: number;
  /** Number of matching calls, events or requests that the rule skips before it applies. Default: 0. */
  readonly skip?: number;
}

/**
 * An ordered set of rules. For each call, event or request, the oldest matching rule applies until its `times` are used
 * up.
 */
export class ArmedRules<R extends Bounds> {
  readonly #rules = new Set<{ readonly rule: R; skip: number; left: number }>();

  /**
   * Adds a rule.
   * @returns a function that removes the rule
   * @throws TypeError if `times` or `skip` is negative
   */
  add(rule: R): () => void {
    const { skip = 0, times = Number.POSITIVE_INFINITY } = rule;
    if (skip < 0 || times < 0) throw new TypeError('fault rule: times and skip must not be negative');
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
