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

/** A hint, and when it came, by the monotonic clock. */
interface TimedHint {
  readonly what: Hint;
  readonly atMs: number;
}

/** A removal, what is made in its place and what is written to that are hinted of within this time; edits one after another take longer. */
const TOGETHER_MS = 100;

/** What was hinted of each name since the look before the last: of two hints that belong together a look may come between. */
export class RemadeNames {
  readonly #clock: { monotonic(): number };
  #before = new Map<string, readonly TimedHint[]>();
  #now = new Map<string, TimedHint[]>();

  constructor(clock: { monotonic(): number }) {
    this.#clock = clock;
  }

  hint(name: string, what: Hint): void {
    const hint = { what, atMs: this.#clock.monotonic() };
    const hints = this.#now.get(name);
    if (hints === undefined) this.#now.set(name, [hint]);
    // More is no news, and a busy name shall not grow.
    else if (hints.length < 16) hints.push(hint);
  }

  /** The names of files that were made anew; each is told once. */
  take(): ReadonlySet<string> {
    const remade = new Set<string>();
    for (const [name, hints] of this.#now) {
      const sinceMs = (hints[0]?.atMs ?? 0) - TOGETHER_MS;
      const before = (this.#before.get(name) ?? []).filter(({ atMs }) => atMs >= sinceMs);
      if (wasRemade([...before, ...hints].map(({ what }) => what))) remade.add(name);
    }
    this.#before = new Map([...this.#now].filter(([name]) => !remade.has(name)));
    this.#now = new Map();
    return remade;
  }
}
