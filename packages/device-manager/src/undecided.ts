import { abortable } from '@node-agent/async';
import type { HeldGrant } from './pod-devices.ts';

interface Undecided {
  readonly turn: number;
  /** What the pod held before it was asked for: it is its again where it is refused. */
  readonly before: readonly HeldGrant[];
}

/**
 * Pods that are being admitted: what they hold may be free again soon. A pod that came after them waits for that rather than be refused
 * for it; none waits for one that came after it, so that no two wait for each other.
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

  /** @returns what it held before; `undefined` where it was not undecided */
  end(uid: string): readonly HeldGrant[] | undefined {
    const before = this.#pods.get(uid)?.before;
    this.#pods.delete(uid);
    for (const wake of [...this.#waiting]) wake();
    return before;
  }

  /** Whether anybody is undecided who came before this pod, and of whom this holds. @param before what that pod held before */
  anyBefore(uid: string, holds: (uid: string, before: readonly HeldGrant[]) => boolean): boolean {
    const own = this.#pods.get(uid)?.turn ?? this.#turn + 1;
    return [...this.#pods].some(([other, { turn, before }]) => turn < own && holds(other, before));
  }

  /** Resolves when something was decided. @throws the signal's reason */
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
