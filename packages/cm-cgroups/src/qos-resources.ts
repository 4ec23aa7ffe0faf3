import { MIN_CPU_SHARES, milliCpuToShares, type Pod, podQosClass, podRequests } from '@node-agent/pod-spec';

/**
 * The shares of the two QoS groups: what Burstable pods request together; the least there are for BestEffort
 * (`setCPUCgroupConfig` in `pkg/kubelet/cm/qos_container_manager_linux.go`). Guaranteed pods stand beside these groups.
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
