import { type Pod, Quantity, type ResourceList } from '@node-agent/pod-spec';
import type { RequestsOf } from './resource-fit.ts';

/** Returns the sum of the resources of pods. */
export type TotalOf = (pods: readonly Pod[]) => ResourceList;

/**
 * Returns a function that sums up the resources of pods. The function adds and subtracts only the pods that differ from
 * the pods of its last call, because each admission needs the sum over nearly the same pods.
 */
export function runningTotal(requestsOf: RequestsOf): TotalOf {
  let counted: readonly Pod[] = [];
  let nanos = new Map<string, bigint>();
  return (pods) => {
    try {
      for (const [pod, times] of changedCounts(counted, pods)) {
        for (const [name, quantity] of requestsOf(pod)) {
          nanos.set(name, (nanos.get(name) ?? 0n) + BigInt(times) * quantity.nanos);
        }
      }
    } catch (error) {
      // The resources of a pod cannot be read, so only some of the pods were counted.
      counted = [];
      nanos = new Map();
      throw error;
    }
    counted = [...pods];
    return new Map([...nanos].map(([name, sum]) => [name, new Quantity(sum, 'DecimalSI')]));
  };
}

/**
 * Returns how much more often each pod is in the second list than in the first, without pods that are in both equally
 * often. Lists that differ in a few pods have the other pods in the same order. Such lists are compared place by place,
 * which costs far less than looking up each pod.
 */
function changedCounts(before: readonly Pod[], after: readonly Pod[]): ReadonlyMap<Pod, number> {
  const counts = new Map<Pod, number>();
  const count = (pod: Pod | undefined, times: number): void => {
    if (pod === undefined) return;
    const sum = (counts.get(pod) ?? 0) + times;
    if (sum === 0) counts.delete(pod);
    else counts.set(pod, sum);
  };
  let [old, now] = [0, 0];
  while (old < before.length || now < after.length) {
    const isSame = before[old] === after[now];
    const isRemoved = !isSame && before[old + 1] === after[now];
    const isAdded = !isSame && !isRemoved && before[old] === after[now + 1];
    if (!isSame && !isAdded) count(before[old], -1);
    if (!isSame && !isRemoved) count(after[now], 1);
    if (!isAdded) old += 1;
    if (!isRemoved) now += 1;
  }
  return counts;
}
