import { type Container, type Pod, parseQuantity, podQosClass } from '@node-agent/pod-spec';
import type { MemoryQosSettings } from './resource-settings.ts';

/**
 * Returns the cgroup v2 files that reserve a container's memory request and throttle it before its limit (KEP-2570):
 * `memory.min` for guaranteed pods, `memory.low` for others, `memory.high` if limit and request differ.
 */
export function memoryQosFiles(pod: Pod, container: Container, settings: MemoryQosSettings): Record<string, string> {
  const request = parseQuantity(container.resources?.requests?.memory ?? '0').value();
  const limit = parseQuantity(container.resources?.limits?.memory ?? '0').value();
  const reserve = request !== 0n && settings.reservationPolicy === 'TieredReservation';
  const files: Record<string, string> = {};
  if (!reserve) {
    files['memory.min'] = '0';
    files['memory.low'] = '0';
  } else {
    files[podQosClass(pod) === 'Guaranteed' ? 'memory.min' : 'memory.low'] = String(request);
  }
  const ceiling = limit === 0n ? settings.allocatableMemoryBytes : Number(limit);
  if (request !== limit && ceiling > 0) {
    const { throttlingFactor, pageSizeBytes } = settings;
    const wanted = Number(request) + (ceiling - Number(request)) * throttlingFactor;
    const high = Math.floor(Math.floor(wanted) / pageSizeBytes) * pageSizeBytes;
    if (high > Number(request)) files['memory.high'] = String(high);
  }
  return files;
}
