/** The machine of a hollow node at one time. */
export interface MachineFigures {
  readonly cpus: number;
  readonly memoryBytes: number;
  /** Memory in use, in bytes. */
  readonly usedBytes: number;
  /** CPU time used since the boot, in nanoseconds. */
  readonly cpuNs: number;
  /** Wall-clock time of the boot, in ms since 1970. */
  readonly bootedAtMs: number;
}

/** Mount point of the cgroups. */
export const CGROUP_MOUNT = '/sys/fs/cgroup';

type Render = (figures: MachineFigures) => string;

/**
 * The kernel files from which the stats of a node are read, generated from the simulated usage of the machine. There
 * are no files for the cgroups of pods, so the stats of pods come from the runtime.
 */
export const machineTexts: Readonly<Record<string, Render>> = {
  '/proc/stat': ({ cpus, bootedAtMs }) =>
    `cpu 0 0 0 0\n${Array.from({ length: cpus }, (_, cpu) => `cpu${cpu} 0 0 0 0\n`).join('')}btime ${Math.floor(bootedAtMs / 1000)}\n`,
  '/proc/meminfo': ({ memoryBytes, usedBytes }) => {
    const free = kibibytes(Math.max(0, memoryBytes - usedBytes));
    const lines = { MemTotal: kibibytes(memoryBytes), MemFree: free, MemAvailable: free, SwapTotal: 0, SwapFree: 0 };
    return Object.entries(lines)
      .map(([name, size]) => `${name}: ${size} kB\n`)
      .join('');
  },
  '/proc/loadavg': () => '0.00 0.00 0.00 1/100 100\n',
  '/proc/sys/kernel/pid_max': () => '4194304\n',
  '/proc/sys/kernel/threads-max': () => '4194304\n',
  [`${CGROUP_MOUNT}/cpu.stat`]: ({ cpuNs }) => {
    const us = Math.floor(cpuNs / 1000);
    return `usage_usec ${us}\nuser_usec ${us}\nsystem_usec 0\n`;
  },
  [`${CGROUP_MOUNT}/memory.stat`]: ({ usedBytes }) => `anon ${usedBytes}\nfile 0\ninactive_file 0\n`,
};

function kibibytes(bytes: number): number {
  return Math.floor(bytes / 1024);
}
