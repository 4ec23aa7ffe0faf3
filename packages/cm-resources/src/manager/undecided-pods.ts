import { abortable } from '@node-agent/async';
import type { HeldContainers } from './ledger.ts';

/**
 * Pods in admission, whose resources may become free again soon. Another pod waits for the decision instead of being
 * rejected. A pod that waits has given up what it got so far, so that two pods never wait for each other.
 */
export class UndecidedPods {
  readonly #pods = new Map<string, HeldContainers>();
  readonly #waiting = new Set<() => void>();
  #changes = 0;

  /**
   * @param before containers that had resources before the admission; they keep these resources if the pod is rejected
   */
  begin(uid: string, before: HeldContainers): void {
    this.#pods.set(uid, this.#pods.get(uid) ?? before);
  }

  has(uid: string): boolean {
    return this.#pods.has(uid);
  }

  /**
   * Returns the containers that had resources before the pod's admission; `undefined` if the pod is not in admission.
   */
  before(uid: string): HeldContainers | undefined {
    return this.#pods.get(uid);
  }

  /** Ends the admission of a pod. */
  end(uid: string): void {
    if (this.#pods.delete(uid)) this.#changed();
  }

  /** Notes that a pod in admission has given up the resources that it got so far. */
  gaveUp(): void {
    this.#changed();
  }

  /** Number of times that a pod in admission may have freed resources. */
  get changes(): number {
    return this.#changes;
  }

  /** Returns the UIDs of the other pods in admission for which `holds` is true. */
  others(uid: string, holds: (uid: string, before: HeldContainers) => boolean): readonly string[] {
    return [...this.#pods].flatMap(([other, before]) => (other !== uid && holds(other, before) ? [other] : []));
  }

  #changed(): void {
    this.#changes += 1;
    for (const wake of [...this.#waiting]) wake();
  }

  /** Resolves when {@link changes} differs from `changes`. @throws the signal's reason */
  async changed(changes: number, signal: AbortSignal): Promise<void> {
    if (changes !== this.#changes) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.add(resolve);
    try {
      await abortable(promise, signal);
    } finally {
      this.#waiting.delete(resolve);
    }
  }
}
