import type { Metrics } from './metrics.ts';

/** What the process tells of itself; Node's `process` is one. */
export interface ProcessFigures {
  memoryUsage(): { readonly rss: number; readonly heapUsed: number };
  cpuUsage(): { readonly user: number; readonly system: number };
  /** What the system counts of the process, and its limits; figures that it does not tell are left out. */
  systemUsage?(): {
    readonly openFiles?: number | undefined;
    /** `Infinity` where there is none. */
    readonly maxOpenFiles?: number | undefined;
    readonly virtualBytes?: number | undefined;
    readonly maxVirtualBytes?: number | undefined;
  };
}

const SYSTEM_METRICS = {
  openFiles: { name: 'process_open_fds', help: 'Number of open file descriptors.' },
  maxOpenFiles: { name: 'process_max_fds', help: 'Maximum number of open file descriptors.' },
  virtualBytes: { name: 'process_virtual_memory_bytes', help: 'Virtual memory size in bytes.' },
  maxVirtualBytes: {
    name: 'process_virtual_memory_max_bytes',
    help: 'Maximum amount of virtual memory available in bytes.',
  },
} as const;
/** As a limit that is none is shown: the largest number of 64 bits. */
const UNLIMITED = 2 ** 64;

/**
 * Makes the metrics that every Prometheus client has of its process, and returns the function that sets them: call it
 * before each scrape.
 * @param startedAtMs when the process started, by the wall clock
 */
export function processMetrics(metrics: Metrics, figures: ProcessFigures, startedAtMs: number): () => void {
  const cpu = metrics.counter({
    name: 'process_cpu_seconds_total',
    help: 'Total user and system CPU time spent in seconds.',
  });
  const resident = metrics.gauge({ name: 'process_resident_memory_bytes', help: 'Resident memory size in bytes.' });
  const heap = metrics.gauge({
    name: 'nodejs_heap_size_used_bytes',
    help: 'Used size of the JavaScript heap in bytes.',
  });
  const start = metrics.gauge({
    name: 'process_start_time_seconds',
    help: 'Start time of the process since unix epoch in seconds.',
  });
  start.set({}, startedAtMs / 1000);
  let countedUs = 0;
  return () => {
    const { user, system } = figures.cpuUsage();
    cpu.inc({}, Math.max(0, user + system - countedUs) / 1e6);
    countedUs = user + system;
    const { rss, heapUsed } = figures.memoryUsage();
    resident.set({}, rss);
    heap.set({}, heapUsed);
    const usage = figures.systemUsage?.() ?? {};
    for (const [figure, options] of Object.entries(SYSTEM_METRICS)) {
      const value = usage[figure as keyof typeof SYSTEM_METRICS];
      if (value !== undefined) metrics.gauge(options).set({}, Math.min(value, UNLIMITED));
    }
  };
}
