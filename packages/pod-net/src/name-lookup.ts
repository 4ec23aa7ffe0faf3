import { type LookupAddress, lookup } from 'node:dns';

type Answer = (error: NodeJS.ErrnoException | null, addresses: readonly LookupAddress[]) => void;
type Lookup = (
  name: string,
  options: { readonly all: true },
  answer: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

/**
 * Looks up host names one at a time. Concurrent requests for one name share one lookup. Lookups are not parallel,
 * because a lookup of the C library cannot be cancelled and occupies one of the few resolver threads of the process. If
 * a pod's name server does not answer, parallel lookups would block name resolution for the whole process. Callers
 * limit their own waiting time. Names that no caller waits for any more are dropped from the queue.
 */
export class NameLookup {
  readonly #lookup: Lookup;
  /** Callbacks per name, in request order. */
  readonly #waiting = new Map<string, Set<Answer>>();
  /** Name of the lookup in progress. */
  #current: string | undefined;

  constructor(ask: Lookup = lookup) {
    this.#lookup = ask;
  }

  /**
   * Looks up all addresses of a name, the preferred one first. @returns a function that cancels the request, so that
   * `answer` is not called any more
   */
  all(name: string, answer: Answer): () => void {
    const answers = this.#waiting.get(name) ?? new Set();
    this.#waiting.set(name, answers.add(answer));
    this.#next();
    return () => {
      answers.delete(answer);
      // A lookup in progress keeps its entry, so that later requests for the same name share the lookup.
      if (answers.size === 0 && name !== this.#current && this.#waiting.get(name) === answers)
        this.#waiting.delete(name);
    };
  }

  #next(): void {
    const [first] = this.#waiting;
    if (first === undefined || this.#current !== undefined) return;
    const [name, answers] = first;
    this.#current = name;
    const answered = (error: NodeJS.ErrnoException | null, addresses: readonly LookupAddress[]): void => {
      this.#waiting.delete(name);
      this.#current = undefined;
      this.#next();
      for (const answer of [...answers]) if (answers.has(answer)) answer(error, addresses);
    };
    try {
      this.#lookup(name, { all: true }, answered);
    } catch (error) {
      // `lookup` throws for invalid names. The error is delivered asynchronously, so that the next name in the queue is
      // looked up.
      setImmediate(answered, error as NodeJS.ErrnoException, []);
    }
  }
}
