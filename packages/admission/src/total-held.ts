import { addResources, type Pod, Quantity, type ResourceList } from '@node-agent/pod-spec';
import type { RequestsOf } from './resource-fit.ts';

/** Returns the sum of the resources of pods. */
export type TotalOf = (pods: readonly Pod[]) => ResourceList;

/**
 * Returns a function that sums up the resources of pods. The function adds and subtracts only the pods that differ from
 * the pods of its last call, because each admission needs the sum over nearly the same pods.
 */
export function runningTotal(requestsOf: RequestsOf): TotalOf {
  let counted: ReadonlySet<Pod> = new Set();
  let nanos = new Map<string, bigint>();
  const count = (pod: Pod, sign: 1n | -1n): void => {
    for (const [name, quantity] of requestsOf(pod)) {
      nanos.set(name, (nanos.get(name) ?? 0n) + sign * quantity.nanos);
    }
  };
  return (pods) => {
    const next = new Set(pods);
    // A pod that is listed twice counts twice.
    if (next.size < pods.length) return addResources(...pods.map(requestsOf));
    const before = counted;
    try {
      for (const pod of next) if (!before.has(pod)) count(pod, 1n);
      for (const pod of before) if (!next.has(pod)) count(pod, -1n);
    } catch (error) {
      // The resources of a pod cannot be read, so only some of the pods were counted.
      counted = new Set();
      nanos = new Map();
      throw error;
    }
    counted = next;
    return new Map([...nanos].map(([name, sum]) => [name, new Quantity(sum, 'DecimalSI')]));
  };
}
