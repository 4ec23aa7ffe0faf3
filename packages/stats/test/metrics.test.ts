import { describe, expect, it } from 'vitest';
import { expositionText } from '../src/exposition.ts';
import { podMetrics } from '../src/pod-metrics.ts';
import { StatsProvider } from '../src/stats-provider.ts';
import { CONTAINER, type Numbers, SANDBOX, START_MS, UID, World } from './world.ts';

const options = { nodeName: 'node-1', rootDirectory: '/var/lib/kubelet', podLogsDirectory: '/var/log/pods' };
const signal = new AbortController().signal;
const main: Numbers = {
  ...{ cpuNs: 5_000_000_000, usage: 3000, inactiveFile: 1000, rss: 700, limit: 4096 },
  ...{ swap: 10, swapLimit: 100, pids: [11], quotaUs: 50_000 },
};

async function node(version: 1 | 2) {
  const world = new World(version);
  await world.writeMachine();
  await world.writeGroup('/', { cpuNs: 9_000_000_000, usage: 6000, inactiveFile: 2000, rss: 900 });
  await world.addPod(main);
  await world.write('/proc/11/fd/0', '');
  await world.fs.symlink('socket:[77]', '/proc/11/fd/1');
  await world.write('/proc/11/limits', 'Limit  Soft Limit  Hard Limit  Units\nMax open files  1024  4096  files\n');
  return { world, provider: new StatsProvider(world.components, options) };
}

const AT = ` ${START_MS}`;
const lines = (text: string): readonly string[] => text.trimEnd().split('\n');

describe.each([1, 2] as const)('/metrics/resource from cgroup v%s', (version) => {
  it('/metrics/resource has the series that metrics-server reads, with the reading times', async () => {
    const { provider } = await node(version);
    const text = lines(await provider.resourceMetrics(signal));
    const main = 'container="main",namespace="default",pod="web"';
    // With cgroup v1 the swap limit is the combined limit of memory and swap.
    expect(text).toEqual(
      expect.arrayContaining([
        '# HELP node_cpu_usage_seconds_total [STABLE] Cumulative cpu time consumed by the node in core-seconds',
        '# TYPE node_cpu_usage_seconds_total counter',
        `node_cpu_usage_seconds_total 9${AT}`,
        `node_memory_working_set_bytes 4000${AT}`,
        `node_swap_usage_bytes 0${AT}`,
        `container_cpu_usage_seconds_total{${main}} 5${AT}`,
        `container_memory_working_set_bytes{${main}} 2000${AT}`,
        `container_swap_usage_bytes{${main}} 10${AT}`,
        `container_swap_limit_bytes{${main}} 100${AT}`,
        `container_start_time_seconds{${main}} ${(START_MS - 60_000) / 1000}`,
        `pod_cpu_usage_seconds_total{namespace="default",pod="web"} 5${AT}`,
        `pod_memory_working_set_bytes{namespace="default",pod="web"} 2000${AT}`,
        'resource_scrape_error 0',
      ]),
    );
  });

  it('/metrics/resource shows the newer pod of a name while its force-deleted namesake still terminates', async () => {
    const { world, provider } = await node(version);
    const uid = 'abcd-ef01';
    const [sandboxId, containerId] = ['b'.repeat(64), 'd'.repeat(64)];
    const createdAt = (START_MS - 1000) * 1e6;
    const group = `/kubepods/burstable/pod${uid}`;
    world.sandboxes.push({ id: sandboxId, metadata: { name: 'web', namespace: 'default', uid }, createdAt });
    world.containers.push({
      ...{ id: containerId, podSandboxId: sandboxId, metadata: { name: 'main' }, state: 1, createdAt },
    });
    const numbers: Numbers = { cpuNs: 1_000_000_000, usage: 900, inactiveFile: 100, rss: 50 };
    for (const path of [group, `${group}/${containerId}`]) await world.writeGroup(path, numbers);
    world.stats.push({
      attributes: { id: containerId, metadata: { name: 'main' } },
      cpu: { timestamp: START_MS * 1e6, usageCoreNanoSeconds: { value: 1 } },
    });
    const text = lines(await provider.resourceMetrics(signal));
    expect(text.filter((line) => /^(container|pod)_(cpu|memory|start)/.test(line))).toEqual([
      `container_cpu_usage_seconds_total{container="main",namespace="default",pod="web"} 1${AT}`,
      `container_memory_working_set_bytes{container="main",namespace="default",pod="web"} 800${AT}`,
      `container_start_time_seconds{container="main",namespace="default",pod="web"} ${(START_MS - 1000) / 1000}`,
      `pod_cpu_usage_seconds_total{namespace="default",pod="web"} 1${AT}`,
      `pod_memory_working_set_bytes{namespace="default",pod="web"} 800${AT}`,
    ]);
  });
});

describe.each([1, 2] as const)('/metrics/cadvisor from cgroup v%s', (version) => {
  it("/metrics/cadvisor has the series that dashboards read, with cAdvisor's labels", async () => {
    const { provider } = await node(version);
    const text = lines(await provider.cadvisorMetrics(signal));
    const path = `/kubepods/burstable/pod${UID}`;
    const own = (extra = '', container = 'main', id = CONTAINER, image = 'docker.io/library/busybox:1.37'): string =>
      `container="${container}",${extra}id="${path}/${id}",image="${image}",`;
    const labels = `{${own()}name="${CONTAINER}",namespace="default",pod="web"}`;
    const of = (extra: string, after: string): string =>
      `{${own(extra)}${after}name="${CONTAINER}",namespace="default",pod="web"}`;
    expect(text).toEqual(
      expect.arrayContaining([
        `container_cpu_usage_seconds_total${of('cpu="total",', '')} 5${AT}`,
        `container_cpu_user_seconds_total${labels} 1.5${AT}`,
        `container_cpu_system_seconds_total${labels} 0.5${AT}`,
        `container_cpu_cfs_throttled_seconds_total${labels} 3${AT}`,
        `container_memory_working_set_bytes${labels} 2000${AT}`,
        `container_memory_rss${labels} 700${AT}`,
        `container_memory_cache${labels} 31${AT}`,
        `container_memory_swap${labels} 10${AT}`,
        `container_memory_max_usage_bytes${labels} 9999${AT}`,
        `container_memory_failcnt${labels} 6${AT}`,
        `container_oom_events_total${labels} 2${AT}`,
        `container_processes${labels} 1${AT}`,
        `container_threads${labels} 8${AT}`,
        `container_threads_max${labels} 0${AT}`,
        `container_file_descriptors${labels} 2${AT}`,
        `container_sockets${labels} 1${AT}`,
        `container_spec_memory_limit_bytes${labels} 4096`,
        `container_spec_memory_reservation_limit_bytes${labels} 0`,
        `container_spec_cpu_quota${labels} 50000`,
        `container_start_time_seconds${labels} ${(START_MS - 60_000) / 1000}`,
        `container_last_seen${labels} ${START_MS / 1000}${AT}`,
        `container_fs_writes_bytes_total${of('device="/dev/vda1",', '')} 8192${AT}`,
        `container_memory_failures_total${of('failure_type="pgfault",', '').replace(/"}$/, '",scope="container"}')} 5${AT}`,
        'container_scrape_error 0',
        'machine_scrape_error 0',
      ]),
    );
    const network = text.filter((line) => line.startsWith('container_network_receive_bytes_total{'));
    const sandbox = `{${own('', '', SANDBOX, 'registry.k8s.io/pause:3.10')}interface="eth0",name="${SANDBOX}",namespace="default",pod="web"}`;
    expect(network).toContain(`container_network_receive_bytes_total${sandbox} 10${AT}`);
    // Only the root and the sandbox have a network series, because the containers share the sandbox's network.
    expect(network).toHaveLength(2);
    expect(text.filter((line) => line.includes('id="/kubepods"')).length).toBeGreaterThan(10);
  });

  it('/metrics/cadvisor writes each family once, with all its samples together', async () => {
    const { provider } = await node(version);
    const names = lines(await provider.cadvisorMetrics(signal))
      .filter((line) => line.startsWith('# TYPE '))
      .map((line) => line.split(' ')[2]);
    expect(new Set(names).size).toBe(names.length);
  });
});

describe('stats provider metrics', () => {
  it('cgroup v2 metrics include pressure in seconds', async () => {
    const { provider } = await node(2);
    const text = await provider.cadvisorMetrics(signal);
    expect(text).toMatch(/^container_pressure_cpu_waiting_seconds_total\{.*id="\/kubepods".*\} 2 /m);
    expect(text).toMatch(/^container_pressure_io_stalled_seconds_total\{.*id="\/kubepods".*\} 1 /m);
  });

  it('file system metrics cover the devices and their I/O counters', async () => {
    const { provider } = await node(2);
    const text = await provider.cadvisorMetrics(signal);
    expect(text).toMatch(/^container_fs_usage_bytes\{container="",device="\/dev\/vda1",id="\/".*\} 400 /m);
    expect(text).toMatch(/^container_fs_io_time_seconds_total\{.*\} 4 /m);
    // The root cgroup's count of a device is used, so the count from the device itself adds no other series.
    expect(text.match(/^container_fs_reads_total\{.*id="\/",.*$/gm)).toEqual([expect.stringMatching(/\} 1 \d+$/)]);
    expect(text).not.toContain('tmpfs');
  });

  it("/metrics/cadvisor sets the scrape error if the runtime is unavailable, and still writes the kernel's values", async () => {
    const { world, provider } = await node(2);
    world.trouble = async () => {
      throw new Error('gone');
    };
    const text = await provider.cadvisorMetrics(signal);
    expect(text).toMatch(/^container_scrape_error 1$/m);
    expect(text).toMatch(/^container_memory_working_set_bytes\{.*id="\/kubepods".*\} 2000 /m);
    expect(await provider.resourceMetrics(signal)).toBe(
      [
        '# HELP resource_scrape_error [STABLE] 1 if there was an error while getting container metrics, 0 otherwise',
        '# TYPE resource_scrape_error gauge',
        'resource_scrape_error 1',
        '',
      ].join('\n'),
    );
  });

  it("/metrics/cadvisor reads machine metrics again if they could not be read or if the machine's memory has grown", async () => {
    const { world, provider } = await node(2);
    const told = async (): Promise<readonly (string | undefined)[]> => {
      const text = await provider.cadvisorMetrics(signal);
      return [/^machine_memory_bytes.* (\d+)$/m, /^machine_scrape_error (\d)$/m].map((line) => line.exec(text)?.[1]);
    };
    world.fs.injectFault({ operation: 'read', path: '/proc/meminfo', code: 'EMFILE' });
    expect((await told())[1]).toBe('1');
    await world.clock.advance(6000);
    expect(await told()).toEqual(['10240', '0']);
    await world.write('/proc/meminfo', 'MemTotal:       20 kB\nSwapTotal:       2 kB\n');
    await world.clock.advance(294_000);
    expect(await told()).toEqual(['10240', '0']);
    await world.clock.advance(6000);
    expect(await told()).toEqual(['20480', '0']);
  });

  it("with the runtime as the source, writes its readable metrics and adds the kubelet's for all others", async () => {
    const { world } = await node(2);
    const provider = new StatsProvider(world.components, { ...options, fromRuntime: true });
    const labelKeys = ['id'];
    const metric = (name: string, labelValues: string[], value: number, timestamp = 0) => ({
      ...{ name, labelValues, timestamp, value: { value }, metricType: 1 },
    });
    world.metrics = {
      descriptors: [
        { name: 'container_memory_rss', help: 'As the runtime has it.', labelKeys },
        { name: 'bad name', help: '', labelKeys: [] },
        { name: 'bad_label', help: '', labelKeys: ['a-b'] },
      ],
      podMetrics: [
        {
          podSandboxId: SANDBOX,
          metrics: [metric('bad name', [], 1), metric('bad_label', ['x'], 1), metric('unknown', ['x'], 1)],
          containerMetrics: [
            {
              containerId: CONTAINER,
              metrics: [
                metric('container_memory_rss', ['a'], 5, START_MS * 1e6),
                metric('container_memory_rss', ['a'], 6),
                metric('container_memory_rss', ['a', 'b'], 7),
              ],
            },
          ],
        },
      ],
    };
    const text = await provider.cadvisorMetrics(signal);
    expect(text.split('\n').filter((line) => line.includes('container_memory_rss'))).toEqual([
      '# HELP container_memory_rss As the runtime has it.',
      '# TYPE container_memory_rss gauge',
      'container_memory_rss{id="a"} 6',
    ]);
    expect(text).not.toMatch(/bad|unknown/);
    expect(text).toMatch(/^container_memory_working_set_bytes\{/m);
  });

  it('podMetrics builds the log and claim metrics from the summary, each claim once', () => {
    const size = { availableBytes: 1, capacityBytes: 2, usedBytes: 3, inodesFree: 4, inodes: 5, inodesUsed: 6 };
    const volume = { time: null, ...size, name: 'data', pvcRef: { namespace: 'ns', name: 'claim' } };
    const pod = {
      ...{ podRef: { name: 'p', namespace: 'ns', uid: 'u' }, startTime: null },
      containers: [{ name: 'c', startTime: null, logs: { time: null, usedBytes: 99 } }],
      volume: [volume, { ...volume, name: 'scratch', pvcRef: undefined }],
    } as unknown as Parameters<typeof podMetrics>[0][number];
    const text = expositionText(podMetrics([pod, { ...pod, containers: [] }]));
    expect(text).toContain(
      'kubelet_container_log_filesystem_used_bytes{container="c",namespace="ns",pod="p",uid="u"} 99\n',
    );
    const claims = text.split('\n').filter((line) => line.startsWith('kubelet_volume_stats_'));
    expect(claims).toContain('kubelet_volume_stats_used_bytes{namespace="ns",persistentvolumeclaim="claim"} 3');
    expect(claims).toHaveLength(6);
    const partly = { ...pod, volume: [{ ...volume, isLowerBound: true as const }] };
    expect(expositionText(podMetrics([partly])).match(/^kubelet_volume_stats_\w+/gm)).toEqual(
      ['available_bytes', 'capacity_bytes', 'inodes', 'inodes_free'].map((name) => `kubelet_volume_stats_${name}`),
    );
  });

  it('/metrics/cadvisor escapes the values of labels', () => {
    const samples = [{ labels: { a: 'x"y\\z\nw' }, value: Number.POSITIVE_INFINITY }];
    expect(expositionText([{ name: 'm', help: 'h\\n', type: 'gauge', samples }])).toBe(
      '# HELP m h\\\\n\n# TYPE m gauge\nm{a="x\\"y\\\\z\\nw"} +Inf\n',
    );
  });
});
