/** Data about the machine from the kernel and the firmware. */
export interface MachineInfo {
  /** The ID of the installation (`/etc/machine-id`). The ID is empty if it is unknown. */
  readonly machineId: string;
  /** The UUID of the firmware. The UUID is empty if it is unknown. */
  readonly systemUuid: string;
  /** The ID of the current boot, which changes with each boot. */
  readonly bootId: string;
  /** The release of the kernel, for example `6.1.0-18-amd64`. */
  readonly kernelVersion: string;
  /** The name of the operating system, for example `Debian GNU/Linux 12 (bookworm)`. */
  readonly osImage: string;
  /** The number of logical CPUs that are online. */
  readonly cpuCount: number;
  readonly memoryBytes: number;
  /** The size of the swap space, in bytes. 0 without swap. */
  readonly swapBytes: number;
  readonly hugePages: readonly HugePages[];
}

/** The allocated huge pages of one size. */
export interface HugePages {
  readonly pageSizeBytes: number;
  readonly count: number;
}

/** Returns a field of `/proc/meminfo` (`MemTotal`, `SwapTotal`) in bytes, or `undefined` if it is missing. */
export function meminfoBytes(text: string, field: string): number | undefined {
  const match = new RegExp(`^${field}:\\s*(\\d+) kB`, 'm').exec(text);
  return match?.[1] === undefined ? undefined : Number(match[1]) * 1024;
}

type CpuRange = readonly [from: number, to: number];

/** Parses a CPU list of the kernel (`0-3,8`) into sorted, disjoint ranges. Returns `undefined` if it is invalid. */
function cpuRanges(text: string): readonly CpuRange[] | undefined {
  const named: CpuRange[] = [];
  for (const range of text.trim().split(',')) {
    const [, from, to = from] = /^(\d+)(?:-(\d+))?$/.exec(range) ?? [];
    if (from === undefined || Number(to) < Number(from)) return undefined;
    named.push([Number(from), Number(to)]);
  }
  const ranges: CpuRange[] = [];
  for (const [from, to] of named.sort(([a], [b]) => a - b)) {
    const [first, last] = ranges.at(-1) ?? [from, Number.NEGATIVE_INFINITY];
    if (from > last + 1) {
      ranges.push([from, to]);
      continue;
    }
    ranges.pop();
    ranges.push([first, Math.max(last, to)]);
  }
  return ranges;
}

/**
 * Returns the number of CPUs in a CPU list: 5 for `0-3,8` and for `0-3,2,8`. Returns `undefined` if the list is
 * invalid.
 */
export function cpuListLength(text: string): number | undefined {
  return cpuRanges(text)?.reduce((count, [from, to]) => count + to - from + 1, 0);
}

/** Returns whether a CPU list is a subset of another. Returns false if one of the lists is invalid. */
export function isCpuSubset(list: string, of: string): boolean {
  const all = cpuRanges(of) ?? [];
  return cpuRanges(list)?.every(([from, to]) => all.some(([first, last]) => first <= from && to <= last)) ?? false;
}

/** Returns the page size of a directory under `/sys/kernel/mm/hugepages`: `hugepages-2048kB` is 2 MiB. */
export function hugePageSizeBytes(directory: string): number | undefined {
  const match = /^hugepages-(\d+)kB$/.exec(directory);
  return match?.[1] === undefined ? undefined : Number(match[1]) * 1024;
}

/** Returns the PRETTY_NAME of an os-release file without quotes, or `Linux` if it has none. */
export function osImageOf(osRelease: string): string {
  const value = /^PRETTY_NAME=(.*)$/m.exec(osRelease)?.[1]?.trim();
  if (value === undefined) return 'Linux';
  const quoted = /^(["'])(.*)\1$/.exec(value)?.[2] ?? value;
  return quoted.replace(/\\(["'$`\\])/g, '$1');
}
