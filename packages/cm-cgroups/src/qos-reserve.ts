import { type Pod, podQosClass, podRequests } from '@node-agent/pod-spec';

/** How much memory is kept from pods of the lower classes (`qosReserved`, feature gate `QOSReserved`). */
export interface QosMemoryReserve {
  /** The share of the requests of a class that those below it cannot use: 0 to 100. */
  readonly memoryPercent: number;
  /** What all pods together may use; 0 where that is not known: then nothing is limited. */
  readonly allocatableBytes: bigint;
}

/** What the groups of the lower classes are held to. At or below 0: everything is kept from them. */
export interface QosMemoryLimits {
  readonly burstableBytes: bigint;
  readonly bestEffortBytes: bigint;
}

/**
 * Burstable pods have what guaranteed ones have not requested, BestEffort pods what neither have (`setMemoryReserve` in
 * `pkg/kubelet/cm/qos_container_manager_linux.go`).
 * @param active the pods that hold resources of the node
 * @returns nothing where it is not known what all pods may use
 */
export function qosMemoryLimits(active: readonly Pod[], reserve: QosMemoryReserve): QosMemoryLimits | undefined {
  const { memoryPercent, allocatableBytes } = reserve;
  if (allocatableBytes === 0n) return undefined;
  const kept = (qosClass: 'Guaranteed' | 'Burstable'): bigint => {
    const pods = active.filter((pod) => podQosClass(pod) === qosClass);
    const requested = pods.reduce((sum, pod) => sum + (podRequests(pod).get('memory')?.value() ?? 0n), 0n);
    return (requested * BigInt(memoryPercent)) / 100n;
  };
  const burstableBytes = allocatableBytes - kept('Guaranteed');
  return { burstableBytes, bestEffortBytes: burstableBytes - kept('Burstable') };
}
