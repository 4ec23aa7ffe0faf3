/** What a hint says of a name, as host's `watch` tells it; `undefined` by one that does not tell. */
export type Hint = 'entry' | 'content' | undefined;

/**
 * Whether a file that is there, and was, has been removed and made anew in between, by what was hinted of its name, in that order. A
 * removal and a creation are an entry each, and what is made is written to then; what is put in a file's place in one step, as
 * editors and atomic writers do, is one entry, and is written to no more.
 */
export function wasRemade(hints: readonly Hint[]): boolean {
  const last = hints.lastIndexOf('entry');
  return hints.filter((hint) => hint === 'entry').length >= 2 && hints.includes('content', last);
}

/** What was hinted of each name since the look before the last: of two hints that belong together a look may come between. */
export class RemadeNames {
  #before = new Map<string, readonly Hint[]>();
  #now = new Map<string, Hint[]>();

  hint(name: string, what: Hint): void {
    const hints = this.#now.get(name);
    if (hints === undefined) this.#now.set(name, [what]);
    // More is no news, and a busy name shall not grow.
    else if (hints.length < 16) hints.push(what);
  }

  /** The names of files that were made anew; each is told once. */
  take(): ReadonlySet<string> {
    const remade = new Set<string>();
    for (const [name, hints] of this.#now) {
      if (wasRemade([...(this.#before.get(name) ?? []), ...hints])) remade.add(name);
    }
    this.#before = new Map([...this.#now].filter(([name]) => !remade.has(name)));
    this.#now = new Map();
    return remade;
  }
}
