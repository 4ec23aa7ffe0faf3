/** What the kernel and the firmware say of the machine. */
export interface MachineInfo {
  /** Of the installation (`/etc/machine-id`); empty where unknown. */
  readonly machineId: string;
  /** Of the firmware; empty where unknown. */
  readonly systemUuid: string;
  /** Another one after each boot. */
  readonly bootId: string;
  /** `6.1.0-18-amd64`. */
  readonly kernelVersion: string;
  /** `Debian GNU/Linux 12 (bookworm)`. */
  readonly osImage: string;
  /** Logical CPUs that are online. */
  readonly cpuCount: number;
  readonly memoryBytes: number;
  /** 0 without swap. */
  readonly swapBytes: number;
  readonly hugePages: readonly HugePages[];
}

/** The huge pages of one size that are set aside. */
export interface HugePages {
  readonly pageSizeBytes: number;
  readonly count: number;
}

/** A field of `/proc/meminfo` (`MemTotal`, `SwapTotal`), in bytes; `undefined` where it is not there. */
export function meminfoBytes(text: string, field: string): number | undefined {
  const match = new RegExp(`^${field}:\\s*(\\d+) kB`, 'm').exec(text);
  return match?.[1] === undefined ? undefined : Number(match[1]) * 1024;
}

type CpuRange = readonly [from: number, to: number];

/** The CPUs that a list of the kernel names (`0-3,8`), in order, each once; `undefined` where it is no such list. */
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

/** How many CPUs a list of the kernel names: `0-3,8` is five, and so is `0-3,2,8`. `undefined` where it is no such list. */
export function cpuListLength(text: string): number | undefined {
  return cpuRanges(text)?.reduce((count, [from, to]) => count + to - from + 1, 0);
}

/** Whether a list of CPUs names only such as another one names, too; not where either is no such list. */
export function isCpuSubset(list: string, of: string): boolean {
  const all = cpuRanges(of) ?? [];
  return cpuRanges(list)?.every(([from, to]) => all.some(([first, last]) => first <= from && to <= last)) ?? false;
}

/** The page size that a directory under `/sys/kernel/mm/hugepages` is for: `hugepages-2048kB` is 2 MiB. */
export function hugePageSizeBytes(directory: string): number | undefined {
  const match = /^hugepages-(\d+)kB$/.exec(directory);
  return match?.[1] === undefined ? undefined : Number(match[1]) * 1024;
}

/** The system's name for people out of an os-release file: its PRETTY_NAME without quotes, `Linux` where it has none. */
export function osImageOf(osRelease: string): string {
  const value = /^PRETTY_NAME=(.*)$/m.exec(osRelease)?.[1]?.trim();
  if (value === undefined) return 'Linux';
  const quoted = /^(["'])(.*)\1$/.exec(value)?.[2] ?? value;
  return quoted.replace(/\\(["'$`\\])/g, '$1');
}
