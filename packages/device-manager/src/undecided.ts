import { abortable } from '@node-agent/async';
import type { HeldGrant } from './pod-devices.ts';

interface Undecided {
  readonly turn: number;
  /** Allocations of the pod before its admission, which are restored if the pod is rejected. */
  readonly before: readonly HeldGrant[];
}

/**
 * Pods in admission, whose devices may become free again soon. A pod whose admission began later waits for the decision
 * about these pods instead of being rejected. No pod waits for a pod whose admission began later, so two pods never
 * wait for each other.
 */
export class UndecidedPods {
  readonly #pods = new Map<string, Undecided>();
  readonly #waiting = new Set<() => void>();
  #turn = 0;

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
    for (const wake of [...this.#waiting]) wake();
    return before;
  }

  /**
   * Returns the UIDs of earlier pods in admission that satisfy `holds`. @param before the allocations of that pod from
   * before its admission
   */
  olderThan(uid: string, holds: (uid: string, before: readonly HeldGrant[]) => boolean): readonly string[] {
    const own = this.#pods.get(uid)?.turn ?? this.#turn + 1;
    const older = [...this.#pods].filter(([other, { turn, before }]) => turn < own && holds(other, before));
    return older.map(([other]) => other);
  }

  /** Resolves when the admission of any pod has ended. @throws the signal's reason */
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
