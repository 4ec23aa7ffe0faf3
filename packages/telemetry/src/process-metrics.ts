import type { Metrics } from './metrics.ts';

/** What the process tells of itself; Node's `process` is one. */
export interface ProcessFigures {
  memoryUsage(): { readonly rss: number; readonly heapUsed: number };
  cpuUsage(): { readonly user: number; readonly system: number };
}

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
  };
}
