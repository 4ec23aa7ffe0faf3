import { type Pod, podQosClass, podRequests } from '@node-agent/pod-spec';
import type { ResourceConfig } from './resource-config.ts';

/**
 * What the feature gate `MemoryQoS` does with memory that pods request (`memoryReservationPolicy`, KEP-2570): nothing, or the
 * kernel keeps that of guaranteed pods whatever happens, and that of others as long as it can. cgroup v2 alone has it.
 */
export type MemoryReservationPolicy = 'None' | 'TieredReservation';

/** What is protected of a pod's memory; nothing where it requests none (`ResourceConfigForPod` in `helpers_linux.go`). */
export function podMemoryProtection(
  pod: Pod,
  policy: MemoryReservationPolicy | undefined,
): Pick<ResourceConfig, 'unified'> {
  const request = memoryRequest(pod);
  if (policy !== 'TieredReservation' || request === 0n) return {};
  return { unified: { [podQosClass(pod) === 'Guaranteed' ? 'memory.min' : 'memory.low']: String(request) } };
}

/** What is protected of all pods together: a group's protection is worth no more than its parent's (`setMemoryQoS` upstream). */
export interface MemoryProtection {
  /** `memory.min` of the group of all pods: what guaranteed and burstable pods request. */
  readonly allBytes: bigint;
  readonly guaranteedBytes: bigint;
  /** `memory.low` of the group of burstable pods. */
  readonly burstableBytes: bigint;
}

/** @param active the pods that hold resources of the node */
export function qosMemoryProtection(active: readonly Pod[], policy: MemoryReservationPolicy): MemoryProtection {
  const total = (qosClass: string): bigint => {
    const pods = policy === 'TieredReservation' ? active.filter((pod) => podQosClass(pod) === qosClass) : [];
    return pods.reduce((sum, pod) => sum + memoryRequest(pod), 0n);
  };
  const [guaranteedBytes, burstableBytes] = [total('Guaranteed'), total('Burstable')];
  return { allBytes: guaranteedBytes + burstableBytes, guaranteedBytes, burstableBytes };
}

function memoryRequest(pod: Pod): bigint {
  return podRequests(pod).get('memory')?.value() ?? 0n;
}
