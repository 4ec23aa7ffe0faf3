import { type LookupAddress, lookup } from 'node:dns';

type Answer = (error: NodeJS.ErrnoException | null, addresses: readonly LookupAddress[]) => void;
type Lookup = (
  name: string,
  options: { readonly all: true },
  answer: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

/**
 * Looks names up, one at a time, and each once for all who wait for it: a lookup of the C library cannot be called off, and takes one of the few
 * threads of the process, which would be without any name for as long as somebody's name server is silent. Who waits does so within a time of their own.
 */
export class NameLookup {
  readonly #lookup: Lookup;
  /** Who waits for what, in the order in which it was asked for; the first is being looked up. */
  readonly #waiting = new Map<string, Answer[]>();

  constructor(ask: Lookup = lookup) {
    this.#lookup = ask;
  }

  /** All addresses of a name, the best one first. */
  all(name: string, answer: Answer): void {
    const known = this.#waiting.get(name);
    if (known !== undefined) {
      known.push(answer);
      return;
    }
    this.#waiting.set(name, [answer]);
    if (this.#waiting.size === 1) this.#next();
  }

  #next(): void {
    const [first] = this.#waiting;
    if (first === undefined) return;
    const [name, answers] = first;
    const answered = (error: NodeJS.ErrnoException | null, addresses: readonly LookupAddress[]): void => {
      this.#waiting.delete(name);
      this.#next();
      for (const answer of answers) answer(error, addresses);
    };
    try {
      this.#lookup(name, { all: true }, answered);
    } catch (error) {
      // What can be no name is not asked for; nor does it keep others from being.
      setImmediate(answered, error as NodeJS.ErrnoException, []);
    }
  }
}
