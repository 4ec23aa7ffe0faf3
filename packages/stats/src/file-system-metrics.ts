import type { MetricFamily, Sample } from './exposition.ts';
import type { FileSystemUse } from './file-systems.ts';

type Figure = (use: FileSystemUse) => number | undefined;

const seconds = (ms: number | undefined): number | undefined => (ms === undefined ? undefined : ms / 1000);

/**
 * Metrics of the machine's file systems, with one series per device, labelled as the root cgroup. If the kernel counts
 * a device's requests for the root cgroup, the root cgroup's series is used instead.
 */
const METRICS: readonly (readonly [name: string, type: MetricFamily['type'], help: string, figure: Figure])[] = [
  ['container_fs_inodes_free', 'gauge', 'Number of available Inodes', ({ size }) => size.freeInodes],
  ['container_fs_inodes_total', 'gauge', 'Number of Inodes', ({ size }) => size.inodes],
  [
    'container_fs_limit_bytes',
    'gauge',
    'Number of bytes that can be consumed by the container on this filesystem.',
    ({ size }) => size.totalBytes,
  ],
  [
    'container_fs_usage_bytes',
    'gauge',
    'Number of bytes that are consumed by the container on this filesystem.',
    ({ size }) => size.totalBytes - size.freeBytes,
  ],
  ['container_fs_reads_total', 'counter', 'Cumulative count of reads completed', ({ disk }) => disk?.reads],
  ['container_fs_writes_total', 'counter', 'Cumulative count of writes completed', ({ disk }) => disk?.writes],
  [
    'container_fs_sector_reads_total',
    'counter',
    'Cumulative count of sector reads completed',
    ({ disk }) => disk?.sectorsRead,
  ],
  ['container_fs_reads_merged_total', 'counter', 'Cumulative count of reads merged', ({ disk }) => disk?.readsMerged],
  [
    'container_fs_read_seconds_total',
    'counter',
    'Cumulative count of seconds spent reading',
    ({ disk }) => seconds(disk?.readMs),
  ],
  [
    'container_fs_sector_writes_total',
    'counter',
    'Cumulative count of sector writes completed',
    ({ disk }) => disk?.sectorsWritten,
  ],
  [
    'container_fs_writes_merged_total',
    'counter',
    'Cumulative count of writes merged',
    ({ disk }) => disk?.writesMerged,
  ],
  [
    'container_fs_write_seconds_total',
    'counter',
    'Cumulative count of seconds spent writing',
    ({ disk }) => seconds(disk?.writeMs),
  ],
  ['container_fs_io_current', 'gauge', 'Number of I/Os currently in progress', ({ disk }) => disk?.inProgress],
  [
    'container_fs_io_time_seconds_total',
    'counter',
    'Cumulative count of seconds spent doing I/Os',
    ({ disk }) => seconds(disk?.ioMs),
  ],
  [
    'container_fs_io_time_weighted_seconds_total',
    'counter',
    'Cumulative weighted I/O time in seconds',
    ({ disk }) => seconds(disk?.weightedMs),
  ],
];

const ROOT = { id: '/', name: '', image: '', container: '', pod: '', namespace: '' };

export function fileSystemMetrics(uses: readonly FileSystemUse[], nowMs: number): readonly MetricFamily[] {
  return METRICS.map(([name, type, help, figure]) => ({
    ...{ name, type, help },
    samples: uses.flatMap((use): Sample[] => {
      const value = figure(use);
      return value === undefined ? [] : [{ labels: { ...ROOT, device: use.device }, value, atMs: nowMs }];
    }),
  }));
}
