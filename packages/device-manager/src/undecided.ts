import { abortable } from '@node-agent/async';
import type { HeldGrant } from './pod-devices.ts';

interface Undecided {
  readonly turn: number;
  /** Allocations of the pod before its admission, which are restored if the pod is rejected. */
  readonly before: readonly HeldGrant[];
}

/**
 * Pods in admission, whose devices may become free again soon. Another pod waits for the decision about these pods
 * instead of being rejected. While a pod waits for a younger one, it keeps the devices that it got so far; before it waits
 * for an older one, it gives them up. So two pods never wait for each other.
 */
export class UndecidedPods {
  readonly #pods = new Map<string, Undecided>();
  readonly #waiting = new Set<() => void>();
  #turn = 0;
  #changes = 0;

  begin(uid: string, before: readonly HeldGrant[]): void {
    this.#pods.set(uid, { turn: ++this.#turn, before: this.#pods.get(uid)?.before ?? before });
  }

  has(uid: string): boolean {
    return this.#pods.has(uid);
  }

  /**
   * Ends the admission of a pod. @returns the pod's allocations from before its admission; `undefined` if the pod was
   * not in admission
   */
  end(uid: string): readonly HeldGrant[] | undefined {
    const before = this.#pods.get(uid)?.before;
    this.#pods.delete(uid);
    this.#changed();
    return before;
  }

  /** Returns the pod's allocations from before its admission; `undefined` if the pod is not in admission. */
  before(uid: string): readonly HeldGrant[] | undefined {
    return this.#pods.get(uid)?.before;
  }

  /** Notes that a pod in admission has given up the devices that it got so far. */
  gaveUp(): void {
    this.#changed();
  }

  /** Number of times that a pod in admission may have freed devices. */
  get changes(): number {
    return this.#changes;
  }

  /**
   * Returns the UIDs of the pods in admission that are older or younger than the pod and satisfy `holds`. A pod that is
   * not in admission counts as the youngest. @param before the allocations of the other pod from before its admission
   */
  others(
    uid: string,
    age: 'older' | 'younger',
    holds: (uid: string, before: readonly HeldGrant[]) => boolean,
  ): readonly string[] {
    const own = this.#pods.get(uid)?.turn ?? this.#turn + 1;
    const others = [...this.#pods].filter(
      ([other, { turn, before }]) => (age === 'older' ? turn < own : turn > own) && holds(other, before),
    );
    return others.map(([other]) => other);
  }

  #changed(): void {
    this.#changes += 1;
    for (const wake of [...this.#waiting]) wake();
  }

  /** Resolves when a pod in admission has freed devices, or when its admission has ended. @throws the signal's reason */
  async change(signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.add(resolve);
    try {
      await abortable(promise, signal);
    } finally {
      this.#waiting.delete(resolve);
    }
  }
}
