import type { Metrics } from './metrics.ts';

/** Resource usage of the process. Node's `process` satisfies this interface. */
export interface ProcessFigures {
  memoryUsage(): { readonly rss: number; readonly heapUsed: number };
  cpuUsage(): { readonly user: number; readonly system: number };
  /**
   * Returns the system's usage counts and limits of the process. Values that the system does not report are omitted.
   */
  systemUsage?(): {
    readonly openFiles?: number | undefined;
    /** Maximum number of open files; `Infinity` if there is no limit. */
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
/** Value shown for an absent limit: 2^64. */
const UNLIMITED = 2 ** 64;

/**
 * Registers the process metrics that every Prometheus client has, and returns the function that updates them. Call the
 * function before each scrape.
 * @param startedAtMs wall clock time at which the process started
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
