import { hugePageSize, type ResourceList } from '@node-agent/pod-spec';

const UNITS = ['B', 'KB', 'MB', 'GB', 'TB', 'PB'];

/** Limits in bytes by page size, in the kernel's notation: `2MB`, `1GB`. */
export type HugePageLimits = ReadonlyMap<string, bigint>;

/** Returns the huge page limits of a resource list. Sizes that cannot be parsed, or that have no unit, are left out. */
export function hugePageLimits(resources: ResourceList): HugePageLimits {
  const limits = new Map<string, bigint>();
  for (const [name, amount] of resources) {
    const bytes = hugePageSize(name);
    const size = bytes === undefined ? undefined : pageSizeName(bytes);
    if (size !== undefined) limits.set(size, (limits.get(size) ?? 0n) + amount.value());
  }
  return limits;
}

/** Returns a page size in the kernel's notation; `undefined` if no unit fits. */
export function pageSizeName(bytes: bigint): string | undefined {
  let size = bytes;
  let unit = 0;
  while (size % 1024n === 0n && unit < UNITS.length - 1) {
    size /= 1024n;
    unit++;
  }
  return size === 0n || size > 1024n ? undefined : `${size}${UNITS[unit]}`;
}
