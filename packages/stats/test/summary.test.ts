import { describe, expect, it, vi } from 'vitest';
import type { StatsOptions } from '../src/ports.ts';
import { StatsProvider } from '../src/stats-provider.ts';
import { summaryJson } from '../src/summary.ts';
import { Snapshot } from './snapshot.ts';
import { CONTAINER, type Numbers, SANDBOX, START_MS, UID, World } from './world.ts';

const options: StatsOptions = {
  nodeName: 'node-1',
  rootDirectory: '/var/lib/kubelet',
  podLogsDirectory: '/var/log/pods',
};
const signal = new AbortController().signal;
const NOW = '2026-03-01T12:00:00.000Z';
const main: Numbers = { cpuNs: 5_000_000_000, usage: 3000, inactiveFile: 1000, rss: 700, limit: 4096, pids: [11, 12] };

async function node(version: 1 | 2, more: Partial<StatsOptions> = {}) {
  const world = new World(version);
  await world.writeMachine();
  await world.writeGroup('/', { cpuNs: 9_000_000_000, usage: 6000, inactiveFile: 2000, rss: 900 });
  await world.addPod(main);
  const provider = new StatsProvider(world.components, { ...options, ...more });
  return { world, provider };
}

describe.each([1, 2] as const)('stats summary from cgroup v%s', (version) => {
  it('summary has CPU, memory and swap of the node, its pods and containers', async () => {
    const { provider } = await node(version);
    const { node: own, pods } = await provider.summary({}, signal);
    expect(own.nodeName).toBe('node-1');
    expect(own.startTime).toBe('2023-11-14T22:13:20.000Z');
    expect(own.cpu).toMatchObject({ time: NOW, usageCoreNanoSeconds: 9_000_000_000 });
    // The machine has 10 KiB of memory.
    expect(own.memory).toMatchObject({
      ...{ usageBytes: 6000, workingSetBytes: 4000, availableBytes: 6240, rssBytes: 900 },
      ...{ pageFaults: 5, majorPageFaults: 2 },
    });
    expect(own.swap).toMatchObject({ swapUsageBytes: 0, swapAvailableBytes: 2048 });
    expect(pods).toHaveLength(1);
    const [pod] = pods;
    expect(pod?.podRef).toEqual({ name: 'web', namespace: 'default', uid: UID });
    expect(pod?.startTime).toBe('2026-03-01T11:59:00.000Z');
    const memory = { usageBytes: 3000, workingSetBytes: 2000, availableBytes: 2096, rssBytes: 700 };
    expect(pod?.memory).toMatchObject(memory);
    expect(pod?.containers[0]).toMatchObject({ name: 'main', memory, cpu: { usageCoreNanoSeconds: 5_000_000_000 } });
    expect(pod?.process_stats).toEqual({ process_count: 2 });
  });

  it('nodeSummary returns only the node and makes no pod call to the runtime', async () => {
    const { world, provider } = await node(version);
    const { node: whole } = await provider.summary({}, signal);
    world.calls.length = 0;
    const { node: own, pods } = await provider.nodeSummary({ fresh: true }, signal);
    expect(world.calls).toEqual(['imageFsInfo']);
    expect(pods).toEqual([]);
    expect({ ...own, cpu: undefined }).toEqual({ ...whole, cpu: undefined });
  });

  it('nodeSummary reads no file through threads if kernel files can be read synchronously', async () => {
    const { world, provider } = await node(version);
    const { node: wanted } = await provider.nodeSummary({}, signal);
    const kernelFiles = await Snapshot.of(world);
    const byThreads = vi.spyOn(world.fs, 'readFile');
    const asking = new StatsProvider({ ...world.components, kernelFiles }, options).nodeSummary({}, signal);
    await world.clock.advance(0);
    expect((await asking).node).toEqual(wanted);
    expect(byThreads.mock.calls).toEqual([]);
  });

  it('summary reports the usage of all pods together and the memory available to them', async () => {
    const { provider } = await node(version);
    const { systemContainers } = (await provider.summary({}, signal)).node;
    const all = systemContainers?.find(({ name }) => name === 'pods');
    expect(all?.memory).toMatchObject({ workingSetBytes: 2000, availableBytes: 6000 });
    expect(all?.startTime).toBe('2026-03-01T12:00:00.000Z');
  });

  it("summary has the network of the node and of the pod's namespace, without loopback and virtual interfaces", async () => {
    const { provider } = await node(version);
    const { node: own, pods } = await provider.summary({}, signal);
    expect(own.network).toMatchObject({ name: 'eth0', rxBytes: 1000, txBytes: 2000, rxErrors: 1, txErrors: 3 });
    expect(own.network?.interfaces).toHaveLength(1);
    expect(pods[0]?.network).toEqual({
      ...{ time: NOW, name: 'eth0', rxBytes: 10, rxErrors: 1, txBytes: 20, txErrors: 3 },
      interfaces: [{ name: 'eth0', rxBytes: 10, rxErrors: 1, txBytes: 20, txErrors: 3 }],
    });
  });

  it('summary has CPU rates over the interval between two readings, and none before the second reading', async () => {
    const { world, provider } = await node(version);
    const first = await provider.summary({}, signal);
    expect(first.node.cpu).not.toHaveProperty('usageNanoCores');
    await world.clock.advance(10_000);
    await world.writeGroup(`/kubepods/burstable/pod${UID}/${CONTAINER}`, { ...main, cpuNs: 8_000_000_000 });
    const second = await provider.summary({}, signal);
    expect(second.node.cpu?.usageNanoCores).toBe(0);
    expect(second.pods[0]?.containers[0]?.cpu?.usageNanoCores).toBe(300_000_000);
  });

  it('summary has file systems, layers, logs and the total ephemeral storage of a pod', async () => {
    const { world, provider } = await node(version);
    await world.write(`/var/log/pods/default_web_${UID}/main/0.log`, 'x'.repeat(5000));
    await world.write(`/var/lib/kubelet/pods/${UID}/etc-hosts`, '127.0.0.1 localhost\n');
    const { node: own, pods } = await provider.summary({}, signal);
    const size = { availableBytes: 500, capacityBytes: 1000, inodesFree: 40, inodes: 100 };
    expect(own.fs).toEqual({ time: NOW, ...size, usedBytes: 400, inodesUsed: 60 });
    expect(own.runtime?.imageFs).toEqual({ time: NOW, ...size, usedBytes: 77, inodesUsed: 7 });
    expect(own.rlimit).toEqual({ time: NOW, maxpid: 1000, curproc: 35 });
    const [pod] = pods;
    expect(pod?.containers[0]?.rootfs).toEqual({ time: NOW, ...size, usedBytes: 4096, inodesUsed: 3 });
    expect(pod?.containers[0]?.logs).toEqual({ time: NOW, ...size, usedBytes: 8192, inodesUsed: 1 });
    expect(pod?.['ephemeral-storage']).toEqual({ time: NOW, ...size, usedBytes: 4096 + 8192 + 4096, inodesUsed: 5 });
  });

  it('summary has the disk of writable layers if it is not the image disk', async () => {
    const { world, provider } = await node(version);
    const { runtime } = (await provider.summary({}, signal)).node;
    expect(runtime?.containerFs).toEqual(runtime?.imageFs);
    world.layers = '/var/lib/containers';
    world.statfs = async (path) => ({
      ...{ totalBytes: 1000, freeBytes: 600, inodes: 100, freeInodes: 40 },
      availableBytes: path === '/var/lib/images' ? 20 : 500,
    });
    const apart = (await provider.summary({ fresh: true }, signal)).node.runtime;
    expect(apart?.imageFs).toMatchObject({ availableBytes: 20, usedBytes: 77 });
    expect(apart?.containerFs).toMatchObject({ availableBytes: 500, usedBytes: 55 });
    world.layers = '';
    const unplaced = (await provider.summary({ fresh: true }, signal)).node.runtime;
    expect(unplaced?.containerFs).toEqual(unplaced?.imageFs);
  });

  it('resourceSummary has only CPU, memory and swap and reads no file systems', async () => {
    const { world, provider } = await node(version);
    const summary = await provider.resourceSummary({}, signal);
    expect(Object.keys(summary.node)).toEqual(['nodeName', 'systemContainers', 'startTime', 'cpu', 'memory', 'swap']);
    expect(Object.keys(summary.pods[0] ?? {})).toEqual(['podRef', 'startTime', 'containers', 'cpu', 'memory', 'swap']);
    expect(world.calls).toEqual(['listPodSandbox', 'listContainers']);
  });
});

describe('stats summary', () => {
  it("summary has pressure and the kubelet's cgroup with cgroup v2, and omits what cgroup v1 does not report", async () => {
    const { world, provider } = await node(2);
    await world.writeGroup('/kubelet.service', { cpuNs: 1000, usage: 50, inactiveFile: 60, rss: 1 });
    const { node: own, pods } = await provider.summary({}, signal);
    const full = { total: 1_000_000, avg10: 0.5, avg60: 0, avg300: 0 };
    const some = { total: 2_000_000, avg10: 1.5, avg60: 0.5, avg300: 0.1 };
    expect(own.cpu?.psi).toEqual({ full, some });
    expect(own.io?.psi).toEqual({ full, some });
    expect(pods[0]?.containers[0]?.memory?.psi).toEqual({ full, some });
    const kubelet = own.systemContainers?.find(({ name }) => name === 'kubelet');
    expect(kubelet).toMatchObject({ startTime: NOW, memory: { workingSetBytes: 0 } });
    const v1 = await (await node(1)).provider.summary({}, signal);
    expect(v1.node.cpu).not.toHaveProperty('psi');
    expect(v1.node.systemContainers?.map(({ name }) => name)).toEqual(['pods']);
  });

  it("summary reports the machine's swap, which cgroup v2 does not report for its root", async () => {
    const { world, provider } = await node(2);
    await world.write('/proc/meminfo', 'MemTotal:       10 kB\nSwapTotal:       8 kB\nSwapFree:        5 kB\n');
    const swap = { swapUsageBytes: 3072, swapAvailableBytes: 5120 };
    expect((await provider.summary({}, signal)).node.swap).toMatchObject(swap);
    expect((await provider.resourceSummary({}, signal)).node.swap).toMatchObject(swap);
    expect(await provider.resourceMetrics(signal)).toContain('node_swap_usage_bytes 3072 ');
    expect(await provider.cadvisorMetrics(signal)).toMatch(/^container_memory_swap\{[^}]*id="\/"[^}]*\} 3072 /m);
  });

  it('summary finds cgroups of the systemd driver', async () => {
    const world = new World(2);
    await world.writeMachine();
    await world.writeGroup('/', { cpuNs: 1000, usage: 6000, inactiveFile: 0, rss: 1 });
    const slice = '/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod1234_5678.slice';
    await world.addPod({ ...main, cpuNs: 1000 }, '/unused');
    for (const path of ['/kubepods.slice', '/kubepods.slice/kubepods-besteffort.slice', slice]) {
      await world.writeGroup(path, main);
    }
    await world.writeGroup(`${slice}/cri-containerd-${CONTAINER}.scope`, main);
    // The runtime reports the cgroup driver after the provider was created.
    let kubepods = '/kubepods';
    const provider = new StatsProvider(world.components, { ...options, kubepods: () => kubepods });
    kubepods = '/kubepods.slice';
    const [pod] = (await provider.summary({}, signal)).pods;
    expect(pod?.cpu?.usageCoreNanoSeconds).toBe(5_000_000_000);
    expect(pod?.containers[0]?.cpu?.usageCoreNanoSeconds).toBe(5_000_000_000);
  });

  it("summary ignores the cgroup of a container's monitor process that is named after the container", async () => {
    const { world, provider } = await node(2);
    const pod = `/kubepods/burstable/pod${UID}`;
    await world.fs.removeAll(`/sys/fs/cgroup${pod}/${CONTAINER}`);
    await world.writeGroup(`${pod}/crio-${CONTAINER}.scope`, main);
    await world.writeGroup(`${pod}/crio-conmon-${CONTAINER}.scope`, { ...main, cpuNs: 1000, usage: 7 });
    const [container] = (await provider.summary({}, signal)).pods[0]?.containers ?? [];
    expect(container?.cpu?.usageCoreNanoSeconds).toBe(5_000_000_000);
    expect(container?.memory?.workingSetBytes).toBe(2000);
  });

  it('summary uses runtime stats if there are no cgroups, as for pods in virtual machines', async () => {
    const { world, provider } = await node(2);
    await world.fs.removeAll('/sys/fs/cgroup/kubepods');
    const [pod] = (await provider.summary({}, signal)).pods;
    expect(pod?.containers[0]).toMatchObject({
      cpu: { usageCoreNanoSeconds: 111 },
      memory: { workingSetBytes: 222 },
    });
    expect(pod?.cpu).toEqual({ time: NOW, usageCoreNanoSeconds: 111 });
    expect(pod?.memory).toEqual({ time: NOW, workingSetBytes: 222 });
  });

  it('with the runtime as the source, the summary uses its stats for pods and falls back to cgroups', async () => {
    const { world, provider } = await node(2, { fromRuntime: true });
    expect((await provider.summary({}, signal)).pods[0]?.cpu?.usageCoreNanoSeconds).toBe(5_000_000_000);
    world.sandboxStats = [
      {
        attributes: { id: SANDBOX },
        linux: {
          cpu: { timestamp: START_MS * 1e6, usageCoreNanoSeconds: { value: 42 }, usageNanoCores: { value: 17 } },
          process: { processCount: { value: 5 } },
          network: { timestamp: START_MS * 1e6, defaultInterface: { name: 'ens1', rxBytes: { value: 3 } } },
          containers: [
            { attributes: { id: CONTAINER }, cpu: { timestamp: START_MS * 1e6, usageCoreNanoSeconds: { value: 40 } } },
          ],
        },
      },
    ];
    const [pod] = (await provider.summary({ fresh: true }, signal)).pods;
    expect(pod?.cpu).toEqual({ time: NOW, usageCoreNanoSeconds: 42, usageNanoCores: 17 });
    expect(pod?.containers[0]?.cpu?.usageCoreNanoSeconds).toBe(40);
    expect(pod?.network).toMatchObject({ name: 'ens1', rxBytes: 3 });
    expect(pod?.process_stats).toEqual({ process_count: 5 });
  });

  it('summary lists reported volumes and counts local volumes in the ephemeral storage', async () => {
    const { world } = await node(2);
    const volumeUsage = () => [
      {
        name: 'scratch',
        observedAtMs: START_MS,
        isLocalEphemeral: true,
        usedBytes: 100,
        inodesUsed: 2,
        capacityBytes: 9,
      },
      {
        ...{ name: 'data', observedAtMs: START_MS, isLocalEphemeral: false, usedBytes: 1000, abnormal: true },
        claim: { name: 'claim', namespace: 'default' },
      },
    ];
    const provider = new StatsProvider({ ...world.components, volumeUsage }, options);
    const [pod] = (await provider.summary({}, signal)).pods;
    expect(pod?.volume).toEqual([
      {
        ...{ time: NOW, availableBytes: 0, capacityBytes: 9, usedBytes: 100, inodesFree: 0, inodes: 0, inodesUsed: 2 },
        name: 'scratch',
      },
      {
        ...{ time: NOW, availableBytes: 0, capacityBytes: 0, usedBytes: 1000, inodesFree: 0, inodes: 0, inodesUsed: 0 },
        ...{ name: 'data', pvcRef: { name: 'claim', namespace: 'default' }, volumeHealthStats: { abnormal: true } },
      },
    ]);
    expect(pod?.['ephemeral-storage']?.usedBytes).toBe(4096 + 100);
  });

  it('only eviction sees the usage of a volume that could be counted only partly', async () => {
    const { world } = await node(2);
    const counted = { usedBytes: 100, inodesUsed: 2, capacityBytes: 9, isLowerBound: true };
    const volumeUsage = () => [{ name: 'scratch', observedAtMs: START_MS, isLocalEphemeral: true, ...counted }];
    const summary = await new StatsProvider({ ...world.components, volumeUsage }, options).summary({}, signal);
    expect(summary.pods[0]?.volume).toMatchObject([{ usedBytes: 100, inodesUsed: 2 }]);
    expect(JSON.parse(summaryJson(summary)).pods[0].volume).toEqual([
      { time: '2026-03-01T12:00:00Z', availableBytes: 0, capacityBytes: 9, inodesFree: 0, inodes: 0, name: 'scratch' },
    ]);
  });

  it('summary JSON has times in whole seconds', async () => {
    const { provider } = await node(2);
    const text = summaryJson(await provider.summary({}, signal));
    expect(text).toContain('"time":"2026-03-01T12:00:00Z"');
    expect(text).not.toMatch(/\.\d{3}Z"/);
  });
});
