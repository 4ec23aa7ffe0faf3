/**
 * Kind of change in a hint, as reported by `watch` of `@node-agent/host`; `undefined` if the watch does not report it.
 */
export type Hint = 'entry' | 'content' | undefined;

/**
 * Returns whether an existing file was removed and created again, judging by the hints about its name, in their order.
 * The file watch reports a removal and a creation as one `entry` change each, and the following write as `content`. The
 * file watch reports an atomic replacement, as by editors, as a single `entry` change without later `content` changes.
 */
export function wasRemade(hints: readonly Hint[]): boolean {
  const last = hints.lastIndexOf('entry');
  return hints.filter((hint) => hint === 'entry').length >= 2 && hints.includes('content', last);
}

/** A hint and its time on the monotonic clock. */
interface TimedHint {
  readonly what: Hint;
  readonly atMs: number;
}

/**
 * Hints about a removal, a creation and a write belong together if they arrive within this time; separate edits take
 * longer.
 */
const TOGETHER_MS = 100;

/**
 * The hints about each name since the pass before the last one, because a pass may come between two hints that belong
 * together.
 */
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
    // Further hints add no information, and the list of a busy name must stay small.
    else if (hints.length < 16) hints.push(hint);
  }

  /** Returns the names of files that were removed and created again; each is returned once. */
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
