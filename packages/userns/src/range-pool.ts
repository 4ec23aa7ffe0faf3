import type { Random } from '@node-agent/async';
import { UserNamespaceError } from './errors.ts';
import type { IdRange } from './id-range.ts';

/** Divides the host's IDs into slots of equal length, and assigns each slot to at most one pod. */
export class RangePool {
  readonly #first: number;
  readonly #count: number;
  readonly #idsPerPod: number;
  readonly #random: Random;
  /** Index of each pod's slot. */
  readonly #byPod = new Map<string, number>();
  readonly #taken = new Set<number>();
  /**
   * Slots that a pod may be using according to its file, although they are not assigned to it, by pod UID. Such slots
   * are not assigned to other pods while the pod exists.
   */
  readonly #blocked = new Map<string, ReadonlySet<number>>();
  /** Pods whose IDs are unknown, each with the reason. While there is any such pod, no slot is assigned. */
  readonly #unknown = new Map<string, UserNamespaceError>();

  /** @param total range whose ends are multiples of `idsPerPod`, as checked by `checkIdRange` */
  constructor(total: IdRange, idsPerPod: number, random: Random) {
    this.#first = total.firstId / idsPerPod;
    this.#count = total.length / idsPerPod;
    this.#idsPerPod = idsPerPod;
    this.#random = random;
  }

  /** Number of pods with a slot. */
  get size(): number {
    return this.#byPod.size;
  }

  /** Returns the UIDs of the pods that have or block a slot, or whose IDs are unknown. */
  pods(): readonly string[] {
    return [...new Set([...this.#byPod.keys(), ...this.#blocked.keys(), ...this.#unknown.keys()])];
  }

  /** Reports whether a pod has or blocks a slot, or has unknown IDs. */
  has(uid: string): boolean {
    return this.#byPod.has(uid) || this.#blocked.has(uid) || this.#unknown.has(uid);
  }

  /** Returns the range of a pod; `undefined` if the pod has no slot. */
  rangeOf(uid: string): IdRange | undefined {
    const index = this.#byPod.get(uid);
    return index === undefined ? undefined : this.#rangeAt(index);
  }

  /**
   * Assigns a free slot, chosen at random, so that the IDs of a removed pod are not reused soon.
   * @throws UserNamespaceError `Exhausted`; `InvalidFile` if the IDs of any pod are unknown
   */
  allocate(uid: string): IdRange {
    for (const [other, cause] of this.#unknown) {
      const message = `the IDs of pod "${other}" are unknown: ${cause.message}`;
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

  /**
   * Records the range that a pod has according to its file. @throws UserNamespaceError `InvalidFile` if the pod cannot
   * have this range
   */
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

  /**
   * Blocks the slots that contain these IDs until the pod is released, because the pod's containers may be using the
   * IDs.
   */
  block(uid: string, { firstId, length }: IdRange): void {
    const blocked = new Set(this.#blocked.get(uid));
    const end = Math.min(Math.ceil((firstId + length) / this.#idsPerPod) - this.#first, this.#count);
    for (let index = Math.max(Math.floor(firstId / this.#idsPerPod) - this.#first, 0); index < end; index++) {
      blocked.add(index);
    }
    this.#blocked.set(uid, blocked);
    this.#unknown.delete(uid);
  }

  /** Blocks all slots until the pod is released or its IDs become known. */
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
