import type { AdmitHandler } from '@node-agent/kubelet-core';

/**
 * Refuses pods above what the node may run, worded as upstream's `InsufficientResourceError`
 * (`pkg/kubelet/lifecycle/predicate.go`).
 * @param podsPerCore 0 for no limit of its own
 */
export function maxPodsHandler(maxPods: number, podsPerCore: number, cpus: number): AdmitHandler {
  const capacity = podsPerCore > 0 ? Math.min(podsPerCore * cpus, maxPods) : maxPods;
  return {
    admit(pod, activePods) {
      const used = activePods.filter((active) => active.metadata.uid !== pod.metadata.uid).length;
      if (used < capacity) return { admit: true };
      const message = `Node didn't have enough resource: pods, requested: 1, used: ${used}, capacity: ${capacity}`;
      return { admit: false, reason: 'OutOfpods', message };
    },
  };
}
