import type { ResourceConfig } from './resource-config.ts';

/** Upstream's "no limit" for huge pages: more than any machine has. */
const UNLIMITED = 1n << 62n;

/** A value for one file of a cgroup. */
export interface ControlWrite {
  readonly controller: string;
  readonly file: string;
  readonly value: string;
  /** If set, the write is skipped if the kernel has no such file. */
  readonly ifPresent?: true;
}

/**
 * Writes that depend on each other. The file of the second write may have to be written first: the kernel rejects a
 * value that does not fit the current value of the other file (a quota above the period's share, memory above memory
 * plus swap).
 */
export type ControlStep = readonly [ControlWrite] | readonly [ControlWrite, ControlWrite];

/** Returns the value for `pids.max`. 0 becomes 1, because systemd does not accept 0 and both drivers must agree. */
export function pidsMax(limit: number): string {
  return limit < 0 ? 'max' : String(Math.max(limit, 1));
}

/** Returns a limit for each page size of the machine; 0 if the config has none. */
export function hugePageSteps(
  limits: ResourceConfig['hugePageLimits'],
  sizes: readonly string[],
  file: (size: string, reserved: boolean) => string,
): readonly ControlStep[] {
  if (limits === undefined) return [];
  return sizes.flatMap((size) => {
    const write = {
      controller: 'hugetlb',
      value: String(limits === 'unlimited' ? UNLIMITED : (limits.get(size) ?? 0n)),
    };
    return [[{ ...write, file: file(size, false) }], [{ ...write, file: file(size, true), ifPresent: true }]] as const;
  });
}
