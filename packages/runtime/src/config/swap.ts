import { type Container, isCriticalPod, type Pod, parseQuantity, podQosClass } from '@node-agent/pod-spec';
import type { ResourceSettings } from './resource-settings.ts';

/**
 * How much a container may swap, in bytes: 0, or under `LimitedSwap` and cgroup v2 the node's swap in the proportion of
 * the container's memory request to the node's memory, for burstable pods that are not critical (KEP-2400).
 */
export function swapLimitBytes(pod: Pod, container: Container, settings: ResourceSettings): number {
  if (settings.swapBehavior !== 'LimitedSwap' || settings.cgroupVersion !== 2) return 0;
  if (isCriticalPod(pod) || podQosClass(pod) !== 'Burstable') return 0;
  const request = parseQuantity(container.resources?.requests?.memory ?? '0').value();
  const limit = parseQuantity(container.resources?.limits?.memory ?? '0').value();
  // Equal says that it asked for none, too: neither shall swap.
  if (request === limit) return 0;
  const proportion = Number(request) / settings.memoryCapacityBytes;
  return proportion > 1 || settings.memoryCapacityBytes <= 0 ? 0 : Math.floor(proportion * settings.swapCapacityBytes);
}
