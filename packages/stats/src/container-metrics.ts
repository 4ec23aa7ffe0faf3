import type { MetricFamily } from './exposition.ts';
import type { GroupFigures } from './group-figures.ts';
import type { DeviceIo, InterfaceFigures } from './kernel-text.ts';

type Values = number | readonly (readonly [labels: Readonly<Record<string, string>>, value: number])[] | undefined;

/** A metric of cgroups, with the function that reads it from their stats. */
export interface ContainerMetric extends Omit<MetricFamily, 'samples'> {
  /** Returns one value, or one per set of additional labels; `undefined` if the cgroup has no value. */
  values(figures: GroupFigures, devices: ReadonlyMap<string, string>): Values;
}

const counter = (name: string, help: string, values: ContainerMetric['values']): ContainerMetric => ({
  ...{ name, help, values, type: 'counter' },
});
const gauge = (name: string, help: string, values: ContainerMetric['values']): ContainerMetric => ({
  ...{ name, help, values, type: 'gauge' },
});

const seconds = (ns: number | undefined): number | undefined => (ns === undefined ? undefined : ns / 1e9);

/** Returns 0 for no limit, as upstream's `specMemoryValue` does. */
const orZero = (limit: number | undefined): number | undefined =>
  limit === undefined || Number.isFinite(limit) ? limit : 0;

/** Returns a function that reads a value only from cgroups with a CPU quota; used for periods and throttling. */
const withQuota =
  (value: (cpu: NonNullable<GroupFigures['cpu']>) => number | undefined): ContainerMetric['values'] =>
  ({ cpu }) =>
    cpu?.quotaUs !== undefined && Number.isFinite(cpu.quotaUs) ? value(cpu) : undefined;

const memory =
  (value: (memory: NonNullable<GroupFigures['memory']>) => number | undefined): ContainerMetric['values'] =>
  ({ memory: figures }) =>
    figures && value(figures);

const network =
  (figure: Exclude<keyof InterfaceFigures, 'name'>): ContainerMetric['values'] =>
  ({ network: interfaces }) =>
    interfaces?.map((one) => [{ interface: one.name }, one[figure]] as const);

const disk =
  (figure: Exclude<keyof DeviceIo, 'major' | 'minor'>): ContainerMetric['values'] =>
  ({ io }, devices) =>
    io?.devices.map((one) => [{ device: devices.get(`${one.major}:${one.minor}`) ?? '' }, one[figure]] as const);

const stalled =
  (resource: 'cpu' | 'memory' | 'io', kind: 'full' | 'some'): ContainerMetric['values'] =>
  (figures) => {
    const psi = figures[resource]?.psi;
    return psi && psi[kind].total / 1e6;
  };

const processes =
  (value: (figures: NonNullable<GroupFigures['processes']>) => number | undefined): ContainerMetric['values'] =>
  ({ processes: figures }) =>
    figures && value(figures);

/** Metrics of a cgroup's limits. The series have no timestamp, because limits are not measured. */
export const SPEC_METRICS: readonly (readonly [
  name: string,
  help: string,
  value: (figures: GroupFigures) => number | undefined,
])[] = [
  ['container_spec_cpu_period', 'CPU period of the container.', ({ cpu }) => cpu?.periodUs],
  [
    'container_spec_cpu_quota',
    'CPU quota of the container.',
    ({ cpu }) => (cpu?.quotaUs !== undefined && Number.isFinite(cpu.quotaUs) ? cpu.quotaUs : undefined),
  ],
  ['container_spec_cpu_shares', 'CPU share of the container.', ({ cpu }) => cpu?.shares],
  [
    'container_spec_memory_limit_bytes',
    'Memory limit for the container.',
    ({ memory: figures }) => orZero(figures?.limitBytes),
  ],
  [
    'container_spec_memory_swap_limit_bytes',
    'Memory swap limit for the container.',
    ({ memory: figures }) => orZero(figures?.swapLimitBytes),
  ],
  [
    'container_spec_memory_reservation_limit_bytes',
    'Memory reservation limit for the container.',
    ({ memory: figures }) => orZero(figures?.reservationBytes),
  ],
];

/** Metrics of a cgroup's usage. The timestamp of the series is the time of the reading. */
export const CONTAINER_METRICS: readonly ContainerMetric[] = [
  counter('container_cpu_user_seconds_total', 'Cumulative user cpu time consumed in seconds.', ({ cpu }) =>
    seconds(cpu?.userNs),
  ),
  counter('container_cpu_system_seconds_total', 'Cumulative system cpu time consumed in seconds.', ({ cpu }) =>
    seconds(cpu?.systemNs),
  ),
  counter('container_cpu_usage_seconds_total', 'Cumulative cpu time consumed in seconds.', ({ cpu }) =>
    cpu && cpu.usageNs > 0 ? [[{ cpu: 'total' }, cpu.usageNs / 1e9]] : undefined,
  ),
  counter(
    'container_cpu_cfs_periods_total',
    'Number of elapsed enforcement period intervals.',
    withQuota(({ periods }) => periods),
  ),
  counter(
    'container_cpu_cfs_throttled_periods_total',
    'Number of throttled period intervals.',
    withQuota(({ throttledPeriods }) => throttledPeriods),
  ),
  counter(
    'container_cpu_cfs_throttled_seconds_total',
    'Total time duration the container has been throttled.',
    withQuota(({ throttledNs }) => seconds(throttledNs)),
  ),
  counter(
    'container_cpu_cfs_burst_periods_total',
    'Number of periods when burst occurs.',
    withQuota(({ burstPeriods }) => burstPeriods),
  ),
  counter(
    'container_cpu_cfs_burst_seconds_total',
    'Total time duration the container has been bursted.',
    withQuota(({ burstNs }) => seconds(burstNs)),
  ),
  gauge(
    'container_memory_cache',
    'Number of bytes of page cache memory.',
    memory(({ cacheBytes }) => cacheBytes),
  ),
  gauge(
    'container_memory_rss',
    'Size of RSS in bytes.',
    memory(({ rssBytes }) => rssBytes),
  ),
  gauge(
    'container_memory_kernel_usage',
    'Size of kernel memory allocated in bytes.',
    memory(({ kernelBytes }) => kernelBytes),
  ),
  gauge(
    'container_memory_mapped_file',
    'Size of memory mapped files in bytes.',
    memory(({ mappedFileBytes }) => mappedFileBytes),
  ),
  gauge(
    'container_memory_swap',
    'Container swap usage in bytes.',
    memory(({ swapBytes }) => swapBytes),
  ),
  counter(
    'container_memory_failcnt',
    'Number of memory usage hits limits',
    memory(({ limitHits }) => limitHits),
  ),
  gauge(
    'container_memory_usage_bytes',
    'Current memory usage in bytes, including all memory regardless of when it was accessed',
    memory(({ usageBytes }) => usageBytes),
  ),
  gauge(
    'container_memory_max_usage_bytes',
    'Maximum memory usage recorded in bytes',
    memory(({ maxUsageBytes }) => maxUsageBytes),
  ),
  gauge(
    'container_memory_working_set_bytes',
    'Current working set in bytes.',
    memory(({ workingSetBytes }) => workingSetBytes),
  ),
  gauge(
    'container_memory_total_active_file_bytes',
    'Current total active file in bytes.',
    memory(({ activeFileBytes }) => activeFileBytes),
  ),
  gauge(
    'container_memory_total_inactive_file_bytes',
    'Current total inactive file in bytes.',
    memory(({ inactiveFileBytes }) => inactiveFileBytes),
  ),
  counter(
    'container_memory_failures_total',
    'Cumulative count of memory allocation failures.',
    ({ memory: figures }) =>
      figures
        ? (['container', 'hierarchy'] as const).flatMap((scope) => [
            [{ failure_type: 'pgfault', scope }, figures.pageFaults] as const,
            [{ failure_type: 'pgmajfault', scope }, figures.majorPageFaults] as const,
          ])
        : undefined,
  ),
  counter('container_fs_reads_bytes_total', 'Cumulative count of bytes read', disk('readBytes')),
  counter('container_fs_reads_total', 'Cumulative count of reads completed', disk('reads')),
  counter('container_fs_writes_bytes_total', 'Cumulative count of bytes written', disk('writeBytes')),
  counter('container_fs_writes_total', 'Cumulative count of writes completed', disk('writes')),
  counter('container_blkio_device_usage_total', 'Blkio Device bytes usage', ({ io }, devices) =>
    io?.devices.flatMap(({ major, minor, readBytes, writeBytes }) => {
      const device = devices.get(`${major}:${minor}`) ?? '';
      const labels = { device, major: String(major), minor: String(minor) };
      return [
        [{ ...labels, operation: 'Read' }, readBytes] as const,
        [{ ...labels, operation: 'Write' }, writeBytes] as const,
      ];
    }),
  ),
  counter('container_network_receive_bytes_total', 'Cumulative count of bytes received', network('rxBytes')),
  counter('container_network_receive_packets_total', 'Cumulative count of packets received', network('rxPackets')),
  counter(
    'container_network_receive_packets_dropped_total',
    'Cumulative count of packets dropped while receiving',
    network('rxDropped'),
  ),
  counter(
    'container_network_receive_errors_total',
    'Cumulative count of errors encountered while receiving',
    network('rxErrors'),
  ),
  counter('container_network_transmit_bytes_total', 'Cumulative count of bytes transmitted', network('txBytes')),
  counter('container_network_transmit_packets_total', 'Cumulative count of packets transmitted', network('txPackets')),
  counter(
    'container_network_transmit_packets_dropped_total',
    'Cumulative count of packets dropped while transmitting',
    network('txDropped'),
  ),
  counter(
    'container_network_transmit_errors_total',
    'Cumulative count of errors encountered while transmitting',
    network('txErrors'),
  ),
  gauge(
    'container_processes',
    'Number of processes running inside the container.',
    processes((figures) => figures.processes),
  ),
  gauge(
    'container_file_descriptors',
    'Number of open file descriptors for the container.',
    processes(({ openFiles }) => openFiles),
  ),
  gauge(
    'container_sockets',
    'Number of open sockets for the container.',
    processes(({ sockets }) => sockets),
  ),
  gauge(
    'container_threads_max',
    'Maximum number of threads allowed inside the container, infinity if value is zero',
    processes(({ maxThreads }) => orZero(maxThreads)),
  ),
  gauge(
    'container_threads',
    'Number of threads running inside the container',
    processes(({ threads }) => threads),
  ),
  gauge(
    'container_ulimits_soft',
    'Soft ulimit values for the container root process. Unlimited if -1, except priority and nice',
    ({ processes: figures }) =>
      figures?.maxOpenFiles === undefined
        ? undefined
        : [[{ ulimit: 'max_open_files' }, Number.isFinite(figures.maxOpenFiles) ? figures.maxOpenFiles : -1]],
  ),
  counter(
    'container_oom_events_total',
    'Count of out of memory events observed for the container',
    memory(({ oomKills }) => oomKills),
  ),
  counter(
    'container_pressure_cpu_stalled_seconds_total',
    'Total time duration no tasks in the container could make progress due to CPU congestion.',
    stalled('cpu', 'full'),
  ),
  counter(
    'container_pressure_cpu_waiting_seconds_total',
    'Total time duration tasks in the container have waited due to CPU congestion.',
    stalled('cpu', 'some'),
  ),
  counter(
    'container_pressure_memory_stalled_seconds_total',
    'Total time duration no tasks in the container could make progress due to memory congestion.',
    stalled('memory', 'full'),
  ),
  counter(
    'container_pressure_memory_waiting_seconds_total',
    'Total time duration tasks in the container have waited due to memory congestion.',
    stalled('memory', 'some'),
  ),
  counter(
    'container_pressure_io_stalled_seconds_total',
    'Total time duration no tasks in the container could make progress due to IO congestion.',
    stalled('io', 'full'),
  ),
  counter(
    'container_pressure_io_waiting_seconds_total',
    'Total time duration tasks in the container have waited due to IO congestion.',
    stalled('io', 'some'),
  ),
];
