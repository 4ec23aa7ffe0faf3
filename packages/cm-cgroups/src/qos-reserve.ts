import type { Pod } from '@node-agent/pod-spec';
import { memoryRequestsByClass } from './memory-requests.ts';

/** Memory reserved from lower QoS classes (`qosReserved`, feature gate `QOSReserved`). */
export interface QosMemoryReserve {
  /** Percentage of a class's memory requests that lower classes cannot use: 0 to 100. */
  readonly memoryPercent: number;
  /** Memory that all pods together may use; 0 if unknown, then nothing is limited. */
  readonly allocatableBytes: bigint;
}

/** Memory limits of the lower QoS classes. A limit of 0 or less means that higher classes have reserved all memory. */
export interface QosMemoryLimits {
  readonly burstableBytes: bigint;
  readonly bestEffortBytes: bigint;
}

/**
 * Computes the limits: Burstable pods may use what Guaranteed pods have not reserved, BestEffort pods what neither
 * class has reserved (`setMemoryReserve` in `pkg/kubelet/cm/qos_container_manager_linux.go`).
 * @param active the pods that hold resources of the node
 * @returns `undefined` if the memory of all pods is unknown
 */
export function qosMemoryLimits(active: readonly Pod[], reserve: QosMemoryReserve): QosMemoryLimits | undefined {
  const { memoryPercent, allocatableBytes } = reserve;
  if (allocatableBytes === 0n) return undefined;
  const { guaranteed, burstable } = memoryRequestsByClass(active);
  const kept = (requested: bigint): bigint => (requested * BigInt(memoryPercent)) / 100n;
  const burstableBytes = allocatableBytes - kept(guaranteed);
  return { burstableBytes, bestEffortBytes: burstableBytes - kept(burstable) };
}
