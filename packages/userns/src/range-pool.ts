import type { Random } from '@node-agent/async';
import { UserNamespaceError } from './errors.ts';
import type { IdRange } from './id-range.ts';

/** Which pod has which part of the host's IDs: all parts are as long, and no two pods have one. */
export class RangePool {
  readonly #first: number;
  readonly #count: number;
  readonly #idsPerPod: number;
  readonly #random: Random;
  /** The part of each pod, by its number. */
  readonly #byPod = new Map<string, number>();
  readonly #taken = new Set<number>();
  /** What pods may have beside that, each by what its own file says: nobody is given it as long as any of them is there. */
  readonly #blocked = new Map<string, ReadonlySet<number>>();
  /** What pods may have of which nobody knows what it is, and why not: nobody is given anything as long as any of them is there. */
  readonly #unknown = new Map<string, UserNamespaceError>();

  /** @param total a multiple of `idsPerPod` at both ends, as `checkIdRange` has it */
  constructor(total: IdRange, idsPerPod: number, random: Random) {
    this.#first = total.firstId / idsPerPod;
    this.#count = total.length / idsPerPod;
    this.#idsPerPod = idsPerPod;
    this.#random = random;
  }

  /** How many pods have a part. */
  get size(): number {
    return this.#byPod.size;
  }

  /** Those that have a part, or keep one from others. */
  pods(): readonly string[] {
    return [...new Set([...this.#byPod.keys(), ...this.#blocked.keys(), ...this.#unknown.keys()])];
  }

  /** Whether anything is kept for a pod. */
  has(uid: string): boolean {
    return this.#byPod.has(uid) || this.#blocked.has(uid) || this.#unknown.has(uid);
  }

  /** The part that a pod has. */
  rangeOf(uid: string): IdRange | undefined {
    const index = this.#byPod.get(uid);
    return index === undefined ? undefined : this.#rangeAt(index);
  }

  /**
   * A part that nobody has. At random, so that the IDs of a pod that has gone are not soon another's.
   * @throws UserNamespaceError `Exhausted`; `InvalidFile` where it is not known what a pod has
   */
  allocate(uid: string): IdRange {
    for (const [other, cause] of this.#unknown) {
      const message = `it is not known which IDs pod "${other}" has: ${cause.message}`;
      throw new UserNamespaceError('InvalidFile', message, { cause });
    }
    const blocked = new Set([...this.#blocked.values()].flatMap((indexes) => [...indexes]));
    const start = Math.floor(this.#random.next() * this.#count);
    for (let n = 0; n < this.#count; n++) {
      const index = (start + n) % this.#count;
      if (this.#taken.has(index) || blocked.has(index)) continue;
      this.#taken.add(index);
      this.#byPod.set(uid, index);
      return this.#rangeAt(index);
    }
    throw new UserNamespaceError('Exhausted', 'could not find an empty slot to allocate a user namespace');
  }

  /** The pod has this range already, by what is on disk. @throws UserNamespaceError `InvalidFile` where it cannot have it */
  record(uid: string, { firstId, length }: IdRange): void {
    const refuse = (message: string): UserNamespaceError => new UserNamespaceError('InvalidFile', message);
    if (length !== this.#idsPerPod) throw refuse(`wrong user namespace length ${length}`);
    if (firstId % this.#idsPerPod !== 0) throw refuse(`wrong user namespace offset specified ${firstId}`);
    const index = firstId / this.#idsPerPod - this.#first;
    const known = this.#byPod.get(uid);
    if (known === index) return;
    if (known !== undefined) throw refuse(`different user namespace range already used by pod "${uid}"`);
    if (index < 0 || index >= this.#count) throw refuse(`id ${firstId} is out of range`);
    const isBlocked = [...this.#blocked].some(([other, indexes]) => other !== uid && indexes.has(index));
    if (isBlocked || this.#taken.has(index)) throw refuse(`range picked for pod "${uid}" already taken`);
    this.#taken.add(index);
    this.#byPod.set(uid, index);
    this.#blocked.delete(uid);
    this.#unknown.delete(uid);
  }

  /** Nobody else is given any of these IDs until the pod is released: it may have them, though it should not. */
  block(uid: string, { firstId, length }: IdRange): void {
    const blocked = new Set(this.#blocked.get(uid));
    const end = Math.min(Math.ceil((firstId + length) / this.#idsPerPod) - this.#first, this.#count);
    for (let index = Math.max(Math.floor(firstId / this.#idsPerPod) - this.#first, 0); index < end; index++) {
      blocked.add(index);
    }
    this.#blocked.set(uid, blocked);
    this.#unknown.delete(uid);
  }

  /** The pod may have any of all IDs: nobody is given one until it is released, or it is known what it has. */
  blockAll(uid: string, cause: UserNamespaceError): void {
    this.#unknown.set(uid, cause);
  }

  release(uid: string): void {
    this.#blocked.delete(uid);
    this.#unknown.delete(uid);
    const index = this.#byPod.get(uid);
    if (index === undefined) return;
    this.#byPod.delete(uid);
    this.#taken.delete(index);
  }

  #rangeAt(index: number): IdRange {
    return { firstId: (this.#first + index) * this.#idsPerPod, length: this.#idsPerPod };
  }
}
