import type { Gauge } from './headroom.ts';

/** What gauges read: files of the kernel, which answer from memory. */
export interface GaugeFiles {
  readFile(path: string): Promise<Uint8Array>;
}

/** A process can dirty memory about that fast. */
const MEMORY_PER_SECOND = 2 ** 31;
/** A fork bomb makes about as many on one CPU. */
const PROCESSES_PER_SECOND = 20_000;

/** The memory of the machine: what is free, and what is cached of files and was not used of late. */
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

/** What pods together have of their group's memory. @param directory the group's; of the memory controller on cgroup v1 */
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

/** The processes and threads of the machine. */
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
  if (digits === undefined) throw new Error(`${JSON.stringify(text.slice(0, 80))} has nothing like ${pattern.source}`);
  return Number(digits);
}
