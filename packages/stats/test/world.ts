import { FakeClock } from '@node-agent/async/testing';
import {
  type Container,
  type ContainerStats,
  CriError,
  type Init,
  type MetricDescriptor,
  messages,
  type PodSandbox,
  type PodSandboxMetrics,
  type PodSandboxStats,
} from '@node-agent/cri-client';
import { MemoryFileSystem } from '@node-agent/host/testing';
import type { CgroupTree } from '../src/group-reader.ts';
import type { StatsComponents, StatsCri } from '../src/ports.ts';

export const START_MS: number = Date.parse('2026-03-01T12:00:00Z');
export const CONTAINER: string = 'c'.repeat(64);
export const SANDBOX: string = 'a'.repeat(64);
export const UID = '1234-5678';

const V1_MOUNTS = ['cpu', 'cpuacct', 'memory', 'pids', 'blkio'];

/** The numbers of one cgroup, which are written as files of either cgroup version. */
export interface Numbers {
  readonly cpuNs: number;
  readonly usage: number;
  readonly inactiveFile: number;
  readonly rss: number;
  readonly limit?: number;
  readonly swap?: number;
  readonly swapLimit?: number;
  readonly pids?: readonly number[];
  /** CPU quota per 100 ms, in microseconds. */
  readonly quotaUs?: number;
}

/** A fake node: cgroups in a memory file system, and a fake runtime with configurable responses. */
export class World {
  readonly clock: FakeClock = new FakeClock(START_MS);
  readonly fs: MemoryFileSystem = new MemoryFileSystem({ clock: this.clock });
  readonly tree: CgroupTree;
  readonly calls: string[] = [];
  sandboxes: Init<PodSandbox>[] = [];
  containers: Init<Container>[] = [];
  stats: Init<ContainerStats>[] = [];
  sandboxStats: Init<PodSandboxStats>[] | 'unimplemented' = 'unimplemented';
  /** Metrics that the runtime itself exports. */
  metrics: { descriptors: Init<MetricDescriptor>[]; podMetrics: Init<PodSandboxMetrics>[] } = {
    ...{ descriptors: [], podMetrics: [] },
  };
  /** Directory of the writable layers. Default: the directory of the images. */
  layers: string | undefined;
  /** Replaces the response of a runtime call. */
  trouble: ((rpc: string, signal: AbortSignal | undefined) => Promise<never>) | undefined;
  /** Returns the stats of the file system at a path. Default: the values below. */
  statfs: (path: string) => Promise<Awaited<ReturnType<StatsComponents['disks']['statfs']>>> = async () => ({
    ...{ totalBytes: 1000, freeBytes: 600, availableBytes: 500, inodes: 100, freeInodes: 40 },
  });

  constructor(version: 1 | 2) {
    this.tree =
      version === 2
        ? { version, mount: '/sys/fs/cgroup' }
        : { version, mounts: new Map(V1_MOUNTS.map((name) => [name, `/sys/fs/cgroup/${name}`])) };
  }

  get components(): StatsComponents {
    const { fs, clock, cri } = this;
    return { fs, clock, cri, cgroups: async () => this.tree, disks: { statfs: (path) => this.statfs(path) } };
  }

  get cri(): StatsCri {
    const told = async (rpc: string, signal: AbortSignal | undefined): Promise<void> => {
      this.calls.push(rpc);
      await this.trouble?.(rpc, signal);
    };
    return {
      listPodSandbox: async (_request, signal) => {
        await told('listPodSandbox', signal);
        return messages.ListPodSandboxResponse.create({ items: this.sandboxes });
      },
      listContainers: async (_request, signal) => {
        await told('listContainers', signal);
        return messages.ListContainersResponse.create({ containers: this.containers });
      },
      listContainerStats: async (_request, signal) => {
        await told('listContainerStats', signal);
        return messages.ListContainerStatsResponse.create({ stats: this.stats });
      },
      listPodSandboxStats: async (_request, signal) => {
        await told('listPodSandboxStats', signal);
        if (this.sandboxStats === 'unimplemented') {
          throw new CriError({ code: 'UNIMPLEMENTED', rpc: 'ListPodSandboxStats', details: 'unknown method' });
        }
        return messages.ListPodSandboxStatsResponse.create({ stats: this.sandboxStats });
      },
      listMetricDescriptors: async (_request, signal) => {
        await told('listMetricDescriptors', signal);
        return messages.ListMetricDescriptorsResponse.create({ descriptors: this.metrics.descriptors });
      },
      listPodSandboxMetrics: async (_request, signal) => {
        await told('listPodSandboxMetrics', signal);
        return messages.ListPodSandboxMetricsResponse.create({ podMetrics: this.metrics.podMetrics });
      },
      podSandboxStatus: async (_request, signal) => {
        await told('podSandboxStatus', signal);
        return messages.PodSandboxStatusResponse.create({ info: { info: '{"image":"registry.k8s.io/pause:3.10"}' } });
      },
      imageFsInfo: async (_request, signal) => {
        await told('imageFsInfo', signal);
        const usage = { usedBytes: { value: 77 }, inodesUsed: { value: 7 }, timestamp: START_MS * 1e6 };
        const images = { ...usage, fsId: { mountpoint: '/var/lib/images' } };
        const layers = { ...usage, usedBytes: { value: 55 }, fsId: { mountpoint: this.layers ?? '' } };
        return messages.ImageFsInfoResponse.create({
          imageFilesystems: [images],
          containerFilesystems: [this.layers === undefined ? images : layers],
        });
      },
      listImages: async (_request, signal) => {
        await told('listImages', signal);
        return messages.ListImagesResponse.create({
          images: [{ id: 'sha256:1', repoTags: ['docker.io/library/busybox:1.37'] }],
        });
      },
    };
  }

  /** Adds a pod `web` with a container `main` and their cgroups. */
  async addPod(numbers: Numbers, group = `/kubepods/burstable/pod${UID}`): Promise<void> {
    const metadata = { name: 'web', namespace: 'default', uid: UID };
    const createdAt = (START_MS - 60_000) * 1e6;
    this.sandboxes.push({ id: SANDBOX, metadata, createdAt });
    this.containers.push({
      ...{ id: CONTAINER, podSandboxId: SANDBOX, metadata: { name: 'main' }, state: 1, createdAt, imageId: 'sha256:1' },
      labels: { 'io.kubernetes.container.name': 'main' },
    });
    this.stats.push({
      attributes: { id: CONTAINER, metadata: { name: 'main' } },
      cpu: { timestamp: START_MS * 1e6, usageCoreNanoSeconds: { value: 111 } },
      memory: { timestamp: START_MS * 1e6, workingSetBytes: { value: 222 } },
      writableLayer: {
        timestamp: START_MS * 1e6,
        fsId: { mountpoint: '/var/lib/layers' },
        usedBytes: { value: 4096 },
        inodesUsed: { value: 3 },
      },
    });
    await this.writeGroup('/kubepods', { ...numbers, limit: 8000 });
    await this.writeGroup(group, numbers);
    await this.writeGroup(`${group}/${CONTAINER}`, numbers);
    await this.writeGroup(`${group}/${SANDBOX}`, { ...numbers, pids: [900] });
  }

  async writeMachine(): Promise<void> {
    await this.write('/proc/stat', 'cpu  1 2\ncpu0 1 2\ncpu1 1 2\nbtime 1700000000\n');
    await this.write('/proc/meminfo', 'MemTotal:       10 kB\nSwapTotal:       2 kB\n');
    await this.write('/proc/loadavg', '1.36 3.49 4.53 2/35 3715089\n');
    await this.write('/proc/sys/kernel/pid_max', '4194304\n');
    await this.write('/proc/sys/kernel/threads-max', '1000\n');
    await this.write('/proc/self/cgroup', '0::/kubelet.service\n1:cpu:/a\n2:memory:/b\n');
    await this.write(
      '/proc/self/mountinfo',
      '1 0 254:1 / /data\\040x rw - ext4 /dev/vda1 rw\n2 0 0:5 / /run rw - tmpfs none rw\n',
    );
    await this.write('/proc/partitions', 'major minor  #blocks  name\n\n 254        1    100 vda1\n');
    await this.write('/proc/diskstats', ' 254       1 vda1 10 1 80 1500 20 2 160 2500 3 4000 5000 0 0\n');
    await this.write('/proc/1/net/dev', netDevText({ eth0: [1000, 2000], lo: [1, 1] }));
    await this.write('/proc/900/net/dev', netDevText({ eth0: [10, 20], veth1: [5, 5] }));
  }

  async writeGroup(path: string, numbers: Numbers): Promise<void> {
    const at = path === '/' ? '' : path;
    if (this.tree.version === 2) {
      for (const [name, text] of Object.entries(v2Files(numbers, path === '/'))) {
        await this.write(`/sys/fs/cgroup${at}/${name}`, text);
      }
      return;
    }
    for (const [controller, files] of Object.entries(v1Files(numbers))) {
      for (const [name, text] of Object.entries(files))
        await this.write(`/sys/fs/cgroup/${controller}${at}/${name}`, text);
    }
  }

  async write(path: string, text: string): Promise<void> {
    await this.fs.mkdir(path.slice(0, path.lastIndexOf('/')));
    await this.fs.writeFile(path, text);
  }
}

export function netDevText(interfaces: Readonly<Record<string, readonly [rx: number, tx: number]>>): string {
  const lines = Object.entries(interfaces).map(
    ([name, [rx, tx]]) => `${name.padStart(6)}: ${rx} 4 1 2 0 0 0 0 ${tx} 5 3 6 0 0 0 0`,
  );
  return `Inter-|   Receive\n face |bytes\n${lines.join('\n')}\n`;
}

const NO_LIMIT_V1 = '9223372036854771712';

function v1Files(numbers: Numbers): Readonly<Record<string, Readonly<Record<string, string>>>> {
  const { cpuNs, usage, inactiveFile, rss, limit, swap = 0, swapLimit, pids = [], quotaUs = -1 } = numbers;
  const stat = [`cache 1`, `total_cache 31`, `total_rss ${rss}`, `total_swap ${swap}`, `total_mapped_file 17`];
  return {
    cpuacct: { 'cpuacct.usage': `${cpuNs}\n`, 'cpuacct.stat': 'user 150\nsystem 50\n' },
    cpu: {
      'cgroup.procs': pids.map((pid) => `${pid}\n`).join(''),
      'cpu.stat': 'nr_periods 9\nnr_throttled 4\nthrottled_time 3000000000\n',
      'cpu.shares': '512\n',
      'cpu.cfs_period_us': '100000\n',
      'cpu.cfs_quota_us': `${quotaUs}\n`,
    },
    memory: {
      'memory.stat': `${[...stat, 'pgfault 5', 'pgmajfault 2', `total_inactive_file ${inactiveFile}`, 'total_active_file 12'].join('\n')}\n`,
      'memory.usage_in_bytes': `${usage}\n`,
      'memory.limit_in_bytes': `${limit ?? NO_LIMIT_V1}\n`,
      'memory.memsw.limit_in_bytes': `${swapLimit ?? NO_LIMIT_V1}\n`,
      'memory.max_usage_in_bytes': '9999\n',
      'memory.failcnt': '6\n',
      'memory.kmem.usage_in_bytes': '55\n',
      'memory.soft_limit_in_bytes': `${NO_LIMIT_V1}\n`,
      'memory.oom_control': 'oom_kill_disable 0\nunder_oom 0\noom_kill 2\n',
    },
    pids: { 'pids.current': '8\n', 'pids.max': 'max\n' },
    blkio: {
      'blkio.bfq.io_service_bytes_recursive': 'Total 0\n',
      'blkio.throttle.io_service_bytes_recursive':
        '254:1 Read 4096\n254:1 Write 8192\n254:1 Total 12288\nTotal 12288\n',
      'blkio.throttle.io_serviced_recursive': '254:1 Read 1\n254:1 Write 2\nTotal 3\n',
    },
  };
}

function v2Files(numbers: Numbers, isRoot: boolean): Readonly<Record<string, string>> {
  const { cpuNs, usage, inactiveFile, rss, limit, swap = 0, swapLimit, pids = [], quotaUs } = numbers;
  const times = 'user_usec 1500000\nsystem_usec 500000\nnr_periods 9\nnr_throttled 4\nthrottled_usec 3000000\n';
  const psi =
    'some avg10=1.50 avg60=0.50 avg300=0.10 total=2000000\nfull avg10=0.50 avg60=0.00 avg300=0.00 total=1000000\n';
  const file = isRoot ? usage - rss : 31;
  const files = {
    'cgroup.procs': pids.map((pid) => `${pid}\n`).join(''),
    'cpu.stat': `usage_usec ${cpuNs / 1000}\n${times}`,
    'memory.stat': `anon ${rss}\nfile ${file}\nkernel 55\nfile_mapped 17\ninactive_file ${inactiveFile}\nactive_file 12\npgfault 5\npgmajfault 2\n`,
    'cpu.pressure': psi,
    'memory.pressure': psi,
    'io.pressure': psi,
    'io.stat': '254:1 rbytes=4096 wbytes=8192 rios=1 wios=2 dbytes=0 dios=0\n',
  };
  if (isRoot) return files;
  return {
    ...files,
    'memory.current': `${usage}\n`,
    'memory.max': `${limit ?? 'max'}\n`,
    'memory.swap.current': `${swap}\n`,
    'memory.swap.max': `${swapLimit ?? 'max'}\n`,
    'memory.peak': '9999\n',
    'memory.min': '0\n',
    'memory.events': 'low 0\nhigh 0\nmax 6\noom 3\noom_kill 2\n',
    'cpu.weight': '20\n',
    'cpu.max': `${quotaUs ?? 'max'} 100000\n`,
    'pids.current': '8\n',
    'pids.max': 'max\n',
    'cgroup.events': 'populated 1\n',
  };
}
