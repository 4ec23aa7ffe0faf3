import { type Container, isCriticalPod, type Pod, parseQuantity, podQosClass } from '@node-agent/pod-spec';
import type { ResourceSettings } from './resource-settings.ts';

/**
 * Returns how much a container may swap, in bytes. Under `LimitedSwap` and cgroup v2, a container of a burstable,
 * non-critical pod gets the share of the node's swap that its memory request has of the node's memory (KEP-2400). All
 * other containers may not swap (0).
 */
export function swapLimitBytes(pod: Pod, container: Container, settings: ResourceSettings): number {
  if (settings.swapBehavior !== 'LimitedSwap' || settings.cgroupVersion !== 2) return 0;
  if (isCriticalPod(pod) || podQosClass(pod) !== 'Burstable') return 0;
  const request = parseQuantity(container.resources?.requests?.memory ?? '0').value();
  const limit = parseQuantity(container.resources?.limits?.memory ?? '0').value();
  // A container whose memory request equals its limit may not swap, and neither may a container without both.
  if (request === limit) return 0;
  const proportion = Number(request) / settings.memoryCapacityBytes;
  return proportion > 1 || settings.memoryCapacityBytes <= 0 ? 0 : Math.floor(proportion * settings.swapCapacityBytes);
}
