import { type LookupAddress, type LookupOptions, lookup } from 'node:dns';
import type { LookupFunction } from 'node:net';

type Answer = Parameters<LookupFunction>[2];
type Lookup = (
  name: string,
  options: LookupOptions,
  answer: (error: NodeJS.ErrnoException | null, address: string | LookupAddress[], family?: number) => void,
) => void;

/**
 * Looks names up, one at a time, and each once for all who wait for it: a lookup of the C library cannot be called off, and takes one of the few
 * threads of the process, which would be without any name for as long as somebody's name server is silent. Who waits does so within a time of their own.
 */
export class NameLookup {
  readonly #lookup: Lookup;
  /** Who waits for what, in the order in which it was asked for; the first is being looked up. */
  readonly #waiting = new Map<string, { readonly name: string; readonly options: LookupOptions; answers: Answer[] }>();

  constructor(ask: Lookup = lookup) {
    this.#lookup = ask;
  }

  /** As `lookup` of a socket's options. */
  readonly lookup: LookupFunction = (name, options, answer) => {
    const key = `${name} ${options.family ?? 0} ${options.all ?? false} ${options.hints ?? 0}`;
    const known = this.#waiting.get(key);
    if (known !== undefined) {
      known.answers.push(answer);
      return;
    }
    this.#waiting.set(key, { name, options, answers: [answer] });
    if (this.#waiting.size === 1) this.#next();
  };

  #next(): void {
    const [first] = this.#waiting;
    if (first === undefined) return;
    const [key, asked] = first;
    this.#lookup(asked.name, asked.options, (error, address, family) => {
      this.#waiting.delete(key);
      this.#next();
      for (const answer of asked.answers) answer(error, address, family);
    });
  }
}
