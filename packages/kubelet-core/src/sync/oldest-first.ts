import type { Pod } from '@node-agent/pod-spec';

/** Sorts pods by creation time. */
export function oldestFirst(pods: readonly Pod[]): readonly Pod[] {
  const order = new CreationOrder();
  for (const pod of pods) order.add(pod);
  return order.pods();
}

/**
 * Performs {@link oldestFirst} pod by pod, so that a long list can be sorted in portions. Pods of the same time are
 * grouped, and only the times are sorted, without a comparison function.
 */
export class CreationOrder {
  readonly #byTime = new Map<string, Pod[]>();

  add(pod: Pod): void {
    const time = pod.metadata.creationTimestamp ?? '';
    const known = this.#byTime.get(time);
    if (known === undefined) this.#byTime.set(time, [pod]);
    else known.push(pod);
  }

  /** Returns the pods by creation time; pods of the same time in the order in which they were added. */
  pods(): readonly Pod[] {
    return [...this.#byTime.keys()].sort().flatMap((time) => this.#byTime.get(time) ?? []);
  }
}
