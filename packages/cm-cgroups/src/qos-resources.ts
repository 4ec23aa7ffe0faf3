import { MIN_CPU_SHARES, milliCpuToShares, oncePer, type Pod, podQosClass, podRequests } from '@node-agent/pod-spec';

/**
 * CPU requests of a Burstable pod; 0 for other pods. Computed once per pod, because each start of a pod needs the sum
 * over all pods.
 */
const burstableMilliCpu = oncePer((pod: Pod): number =>
  podQosClass(pod) === 'Burstable' ? Number(podRequests(pod).get('cpu')?.milliValue() ?? 0n) : 0,
);

/**
 * Returns the CPU shares of the two QoS cgroups: the sum of the requests for Burstable, the minimum for BestEffort
 * (`setCPUCgroupConfig` in `pkg/kubelet/cm/qos_container_manager_linux.go`). Cgroups of Guaranteed pods have the same
 * parent as these two cgroups.
 * @param active the pods that hold resources of the node
 */
export function qosShares(active: readonly Pod[]): { readonly burstable: number; readonly bestEffort: number } {
  let milliCpu = 0;
  for (const pod of active) milliCpu += burstableMilliCpu(pod);
  return { burstable: milliCpuToShares(milliCpu), bestEffort: MIN_CPU_SHARES };
}
