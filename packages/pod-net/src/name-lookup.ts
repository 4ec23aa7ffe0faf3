import { type LookupAddress, lookup } from 'node:dns';

type Answer = (error: NodeJS.ErrnoException | null, addresses: readonly LookupAddress[]) => void;
type Lookup = (
  name: string,
  options: { readonly all: true },
  answer: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

/**
 * Looks names up, one at a time, and each once for all who wait for it: a lookup of the C library cannot be called off, and takes one of the few
 * threads of the process, which would be without any name for as long as somebody's name server is silent. Who waits does so within a time of their own;
 * what nobody waits for any more is not asked for.
 */
export class NameLookup {
  readonly #lookup: Lookup;
  /** Who waits for what, in the order in which it was asked for. */
  readonly #waiting = new Map<string, Set<Answer>>();
  /** What is being looked up. */
  #asked: string | undefined;

  constructor(ask: Lookup = lookup) {
    this.#lookup = ask;
  }

  /** All addresses of a name, the best one first. @returns what calls it off; `answer` is not called then */
  all(name: string, answer: Answer): () => void {
    const answers = this.#waiting.get(name) ?? new Set();
    this.#waiting.set(name, answers.add(answer));
    this.#next();
    return () => {
      answers.delete(answer);
      // What is being looked up stays: whoever asks for it meanwhile is answered by that.
      if (answers.size === 0 && name !== this.#asked && this.#waiting.get(name) === answers) this.#waiting.delete(name);
    };
  }

  #next(): void {
    const [first] = this.#waiting;
    if (first === undefined || this.#asked !== undefined) return;
    const [name, answers] = first;
    this.#asked = name;
    const answered = (error: NodeJS.ErrnoException | null, addresses: readonly LookupAddress[]): void => {
      this.#waiting.delete(name);
      this.#asked = undefined;
      this.#next();
      for (const answer of [...answers]) if (answers.has(answer)) answer(error, addresses);
    };
    try {
      this.#lookup(name, { all: true }, answered);
    } catch (error) {
      // What can be no name is not asked for; nor does it keep others from being.
      setImmediate(answered, error as NodeJS.ErrnoException, []);
    }
  }
}
