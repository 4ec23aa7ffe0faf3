import type { HugepageLimit, Init } from '@node-agent/cri-client';
import { type Container, hugePageSize, type Pod, parseQuantity, type ResourceListJson } from '@node-agent/pod-spec';

const UNITS = ['B', 'KB', 'MB', 'GB', 'TB', 'PB'];

/**
 * Returns a limit for every huge page size of the machine: the container's, else the pod's, else 0. Resource names with
 * an unreadable size are ignored (`GetHugepageLimitsFromResources` upstream).
 */
export function hugePageLimits(
  pod: Pod,
  container: Container,
  sizes: readonly string[],
): readonly Init<HugepageLimit>[] {
  const limits = new Map<string, number>();
  for (const list of [pod.spec.resources?.limits, container.resources?.limits]) readLimits(list ?? {}, limits);
  return sizes.map((pageSize) => ({ pageSize, limit: limits.get(pageSize) ?? 0 }));
}

function readLimits(list: ResourceListJson, limits: Map<string, number>): void {
  for (const [resource, amount] of Object.entries(list)) {
    const bytes = hugePageSize(resource);
    const pageSize = bytes === undefined ? undefined : cgroupPageSize(bytes);
    if (pageSize !== undefined) limits.set(pageSize, Number(parseQuantity(amount).value()));
  }
}

/** Formats a page size in the kernel's cgroup notation (`2MB`); `undefined` if no unit fits. */
export function cgroupPageSize(bytes: bigint): string | undefined {
  let size = bytes;
  let unit = 0;
  while (size > 0n && size % 1024n === 0n && unit < UNITS.length - 1) {
    size /= 1024n;
    unit++;
  }
  return size > 1024n && unit < UNITS.length - 1 ? undefined : `${size}${UNITS[unit]}`;
}
