import type { ResourceConfig } from './resource-config.ts';

/** Upstream's "no limit" of huge pages: more than any machine has. */
const UNLIMITED = 1n << 62n;

/** One value for one file of a group. */
export interface ControlWrite {
  readonly controller: string;
  readonly file: string;
  readonly value: string;
  /** A kernel may have no such file: then nothing is written. */
  readonly ifPresent?: true;
}

/**
 * Values that go together. Of two the second may have to come first: the kernel refuses what does not fit to the value that
 * the other still has (a quota above its period's share, memory above memory and swap).
 */
export type ControlStep = readonly [ControlWrite] | readonly [ControlWrite, ControlWrite];

/** `pids.max`: 0 is 1, as systemd knows no 0, and the two drivers are to agree. */
export function pidsMax(limit: number): string {
  return limit < 0 ? 'max' : String(Math.max(limit, 1));
}

/** Each size of the machine gets a limit, 0 where none is wanted. */
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
