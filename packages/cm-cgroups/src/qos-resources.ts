import { MIN_CPU_SHARES, milliCpuToShares, type Pod, podQosClass, podRequests } from '@node-agent/pod-spec';

/**
 * Returns the CPU shares of the two QoS cgroups: the sum of the requests for Burstable, the minimum for BestEffort
 * (`setCPUCgroupConfig` in `pkg/kubelet/cm/qos_container_manager_linux.go`). Cgroups of Guaranteed pods are beside
 * these two.
 * @param active the pods that hold resources of the node
 */
export function qosShares(active: readonly Pod[]): { readonly burstable: number; readonly bestEffort: number } {
  let milliCpu = 0;
  for (const pod of active) {
    if (podQosClass(pod) !== 'Burstable') continue;
    milliCpu += Number(podRequests(pod).get('cpu')?.milliValue() ?? 0n);
  }
  return { burstable: milliCpuToShares(milliCpu), bestEffort: MIN_CPU_SHARES };
}
