import { abortable } from '@node-agent/async';
import type { HeldContainers } from './ledger.ts';

/**
 * Pods in admission, whose resources may become free again soon. A later pod waits for the decision instead of being
 * rejected. No pod waits for a later one, so that two pods never wait for each other.
 */
export class UndecidedPods {
  readonly #pods = new Map<string, { readonly turn: number; readonly before: HeldContainers }>();
  readonly #waiting = new Set<() => void>();
  #turn = 0;

  /**
   * @param before containers that had resources before the admission; they keep these resources if the pod is rejected
   */
  begin(uid: string, before: HeldContainers): void {
    this.#pods.set(uid, { turn: ++this.#turn, before: this.#pods.get(uid)?.before ?? before });
  }

  has(uid: string): boolean {
    return this.#pods.has(uid);
  }

  /**
   * Returns the containers that had resources before the pod's admission; `undefined` if the pod is not in admission.
   */
  before(uid: string): HeldContainers | undefined {
    return this.#pods.get(uid)?.before;
  }

  /** Ends the admission of a pod. */
  end(uid: string): void {
    if (!this.#pods.delete(uid)) return;
    for (const wake of [...this.#waiting]) wake();
  }

  /** Reports whether `holds` is true for any pod whose admission began before this pod's. */
  anyBefore(uid: string, holds: (uid: string, before: HeldContainers) => boolean): boolean {
    const own = this.#pods.get(uid)?.turn ?? this.#turn + 1;
    return [...this.#pods].some(([other, { turn, before }]) => turn < own && holds(other, before));
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
