import type { Detail } from './group-figures.ts';

/** A file of a cgroup: its v1 controller and its name. */
export interface GroupFile {
  /** Controller whose hierarchy has the file on cgroup v1; unused on v2. */
  readonly controller: string;
  readonly name: string;
}

/** Contents of a cgroup's files, by name; missing files are absent. */
export type GroupTexts = ReadonlyMap<string, string>;

const v1 = (controller: string, ...names: readonly string[]): readonly GroupFile[] =>
  names.map((name) => ({ controller, name }));
const v2 = (...names: readonly string[]): readonly GroupFile[] => names.map((name) => ({ controller: '', name }));

const FILES: Readonly<Record<1 | 2, Readonly<Record<Exclude<Detail, 'node'>, readonly GroupFile[]>>>> = {
  1: {
    resource: [
      ...v1('cpuacct', 'cpuacct.usage'),
      ...v1('memory', 'memory.stat', 'memory.usage_in_bytes', 'memory.limit_in_bytes', 'memory.memsw.limit_in_bytes'),
    ],
    summary: v1('cpu', 'cgroup.procs'),
    full: [
      ...v1('cpuacct', 'cpuacct.stat'),
      ...v1('cpu', 'cpu.stat', 'cpu.shares', 'cpu.cfs_period_us', 'cpu.cfs_quota_us'),
      ...v1('memory', 'memory.max_usage_in_bytes', 'memory.failcnt', 'memory.kmem.usage_in_bytes'),
      ...v1('memory', 'memory.soft_limit_in_bytes', 'memory.oom_control'),
      ...v1('pids', 'pids.current', 'pids.max'),
      ...v1('blkio', 'blkio.bfq.io_service_bytes_recursive', 'blkio.bfq.io_serviced_recursive'),
      ...v1('blkio', 'blkio.throttle.io_service_bytes_recursive', 'blkio.throttle.io_serviced_recursive'),
    ],
  },
  2: {
    resource: v2('cpu.stat', 'memory.stat', 'memory.current', 'memory.max', 'memory.swap.current', 'memory.swap.max'),
    summary: v2('cgroup.procs', 'cpu.pressure', 'memory.pressure', 'io.pressure'),
    full: v2(
      ...['cpu.weight', 'cpu.max', 'memory.min', 'memory.peak', 'memory.events'],
      ...['pids.current', 'pids.max', 'io.stat'],
    ),
  },
};

/** Returns the files of a cgroup that a detail needs. */
export function groupFiles(version: 1 | 2, detail: Detail): readonly GroupFile[] {
  const { resource, summary, full } = FILES[version];
  if (detail === 'resource') return resource;
  return detail === 'full' ? [...resource, ...summary, ...full] : [...resource, ...summary];
}
