import type { Gauge } from './headroom.ts';

/** Port that reads files of the kernel (`/proc`, cgroups). Such reads need no disk, so they do not hang. */
export interface GaugeFiles {
  readFile(path: string): Promise<Uint8Array>;
}

/** Approximate maximum rate at which a process can dirty memory, in bytes per second. */
const MEMORY_PER_SECOND = 2 ** 31;
/** Approximate rate at which a fork bomb creates processes on one CPU. */
const PROCESSES_PER_SECOND = 20_000;

/** Gauge of the machine's available memory: free memory plus inactive file cache. */
export function nodeMemoryGauge(fs: GaugeFiles): Gauge {
  return {
    signal: 'memory.available',
    perSecond: MEMORY_PER_SECOND,
    async available() {
      const text = await read(fs, '/proc/meminfo');
      return (field(text, /^MemFree:\s+(\d+) kB$/m) + field(text, /^Inactive\(file\):\s+(\d+) kB$/m)) * 1024;
    },
  };
}

/**
 * Gauge of the memory that all pods together use in their cgroup. @param directory the cgroup's directory; on cgroup
 * v1, the directory in the memory controller
 */
export function cgroupMemoryGauge(fs: GaugeFiles, directory: string, version: 1 | 2): Gauge {
  const usageFile = version === 2 ? 'memory.current' : 'memory.usage_in_bytes';
  const cacheLine = version === 2 ? /^inactive_file (\d+)$/m : /^total_inactive_file (\d+)$/m;
  return {
    signal: 'allocatableMemory.available',
    perSecond: MEMORY_PER_SECOND,
    async available() {
      const usage = field(await read(fs, `${directory}/${usageFile}`), /^(\d+)$/m);
      return field(await read(fs, `${directory}/memory.stat`), cacheLine) - usage;
    },
  };
}

/** Gauge of the machine's processes and threads. */
export function nodeProcessGauge(fs: GaugeFiles): Gauge {
  return {
    signal: 'pid.available',
    perSecond: PROCESSES_PER_SECOND,
    available: async () => -field(await read(fs, '/proc/loadavg'), / \d+\/(\d+) /),
  };
}

async function read(fs: GaugeFiles, path: string): Promise<string> {
  return new TextDecoder().decode(await fs.readFile(path));
}

function field(text: string, pattern: RegExp): number {
  const [, digits] = pattern.exec(text) ?? [];
  if (digits === undefined) throw new Error(`${JSON.stringify(text.slice(0, 80))} does not match ${pattern.source}`);
  return Number(digits);
}
