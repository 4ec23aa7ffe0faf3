import { type Pod, podQosClass } from '@node-agent/pod-spec';
import { memoryRequest, memoryRequestsByClass } from './memory-requests.ts';
import type { ResourceConfig } from './resource-config.ts';

/**
 * Protection of requested memory with the feature gate `MemoryQoS` (`memoryReservationPolicy`, KEP-2570). `None`: no
 * protection. `TieredReservation`: the kernel never reclaims the requested memory of Guaranteed pods, and reclaims that
 * of Burstable pods only under extreme pressure. Requires cgroup v2.
 */
export type MemoryReservationPolicy = 'None' | 'TieredReservation';

/**
 * Returns the memory protection of a pod; none if the pod requests no memory (`ResourceConfigForPod` in
 * `helpers_linux.go`).
 */
export function podMemoryProtection(
  pod: Pod,
  policy: MemoryReservationPolicy | undefined,
): Pick<ResourceConfig, 'unified'> {
  const request = memoryRequest(pod);
  if (policy !== 'TieredReservation' || request === 0n) return {};
  return { unified: { [podQosClass(pod) === 'Guaranteed' ? 'memory.min' : 'memory.low']: String(request) } };
}

/**
 * Memory protection of all pods together. The protection of a cgroup is limited by the protection of its parent
 * (upstream: `setMemoryQoS`).
 */
export interface MemoryProtection {
  /** `memory.min` of the cgroup of all pods: the requests of Guaranteed and Burstable pods. */
  readonly allBytes: bigint;
  readonly guaranteedBytes: bigint;
  /** `memory.low` of the cgroup of Burstable pods. */
  readonly burstableBytes: bigint;
}

/** Computes the protection. @param active the pods that hold resources of the node */
export function qosMemoryProtection(active: readonly Pod[], policy: MemoryReservationPolicy): MemoryProtection {
  const { guaranteed, burstable } = memoryRequestsByClass(policy === 'TieredReservation' ? active : []);
  return { allBytes: guaranteed + burstable, guaranteedBytes: guaranteed, burstableBytes: burstable };
}
