import { FakeClock } from '@node-agent/async/testing';
import { type ContainerStats, type Init, messages, type PodSandboxStats } from '@node-agent/cri-client';
import { describe, expect, it } from 'vitest';
import { StatsError } from '../src/errors.ts';
import type { GroupCollection, PodCollection } from '../src/group-collection.ts';
import type { GroupFigures } from '../src/group-figures.ts';
import { fullSummary, resourceSummary } from '../src/node-summary.ts';
import type { ListedPod } from '../src/pod-listing.ts';
import { type PodStorage, podStats } from '../src/pod-summary.ts';
import type { Disk, StorageCollection } from '../src/storage-collection.ts';
import { summaryJson } from '../src/summary.ts';

const AT_MS = Date.parse('2026-03-01T12:00:00Z');
const TIME = '2026-03-01T12:00:00.000Z';
const LATER = '2026-03-01T12:00:07.000Z';

const pod: ListedPod = {
  ...{ ref: { name: 'web', namespace: 'shop', uid: 'u1' }, sandboxId: 's1', createdAtMs: AT_MS - 60_000 },
  containers: ['c1', 'c2'].map((id) => ({
    ...{ id, name: `main-${id}`, createdAtMs: AT_MS - 50_000, image: '', imageId: '' },
  })),
};

/** Creates stats of a cgroup whose CPU, memory, swap and process values all differ. */
function group(path: string, from: number): GroupFigures {
  const rest = { cacheBytes: 0, mappedFileBytes: 0, activeFileBytes: 0, inactiveFileBytes: 0 };
  return {
    ...{ path, atMs: AT_MS, monotonicMs: 0, createdAtMs: AT_MS - 1000 * from },
    cpu: { usageNs: from },
    memory: {
      ...{ usageBytes: from + 1, workingSetBytes: from + 2, rssBytes: from + 3, ...rest },
      ...{ swapBytes: from + 4, pageFaults: from + 5, majorPageFaults: from + 6 },
    },
    io: { devices: [] },
    processes: { processes: from + 7 },
  };
}

function collection(groups: readonly GroupFigures[], more: Partial<GroupCollection> = {}): GroupCollection {
  const containers = new Map(['s1', 'c1', 'c2'].map((id) => [id, `/p/${id}`]));
  return {
    ...{ detail: 'summary', bootedAtMs: AT_MS, memoryBytes: 10_000, swapBytes: 20_000, system: [], rates: new Map() },
    groups: new Map(groups.map((one) => [one.path, one])),
    podGroups: { parents: [], pods: new Map([['u1', { uid: 'u1', path: '/p', containers }]]) },
    pods: { status: 'fulfilled', value: told() },
    ...more,
  };
}

function told(more: Partial<PodCollection> = {}): PodCollection {
  return { pods: [pod], containers: new Map(), sandboxes: undefined, images: new Map(), ...more };
}

const ofContainer = (stats: Init<ContainerStats>): ContainerStats => messages.ContainerStats.create(stats);
const ofSandbox = (stats: Init<PodSandboxStats>): PodSandboxStats => messages.PodSandboxStats.create(stats);

const disk = (from: number, atMs = AT_MS): Disk => ({
  ...{
    totalBytes: from + 50,
    freeBytes: from + 40,
    availableBytes: from + 30,
    inodes: from + 20,
    freeInodes: from + 10,
  },
  atMs,
});
const sizeOf = (from: number) => ({
  ...{ availableBytes: from + 30, capacityBytes: from + 50, inodesFree: from + 10, inodes: from + 20 },
});

function stored(more: Partial<StorageCollection> = {}): StorageCollection {
  const usage = messages.FilesystemUsage.create({ timestamp: AT_MS * 1e6 });
  return {
    node: { status: 'fulfilled', value: disk(1000, AT_MS + 7000) },
    runtime: { status: 'fulfilled', value: { images: { usage }, layers: { usage } } },
    ...{ disks: new Map(), logs: new Map(), podFiles: new Map(), processes: { atMs: AT_MS } },
    ...more,
  };
}

const files = (
  more: Partial<StorageCollection> = {},
  volumes: PodStorage['volumes'] = [],
  layers: PodStorage['layers'] = new Map(),
): PodStorage => ({
  ...{ node: disk(1000, AT_MS + 7000), storage: stored(more), volumes, layers },
});

describe('podStats', () => {
  it("podStats takes the pod's values from the pod cgroup and the containers' values from their cgroups, with CPU rates", () => {
    const rates = new Map([
      ['/p', 71],
      ['/p/c1', 72],
    ]);
    const groups = [group('/p', 100), group('/p/s1', 200), group('/p/c1', 300), group('/p/c2', 400)];
    const stats = podStats(pod, collection(groups, { rates }), told());
    expect(stats).toMatchObject({
      ...{ podRef: { name: 'web', namespace: 'shop', uid: 'u1' }, startTime: '2026-03-01T11:59:00.000Z' },
      cpu: { usageNanoCores: 71, usageCoreNanoSeconds: 100 },
      memory: { workingSetBytes: 102 },
      swap: { swapUsageBytes: 104 },
      containers: [
        {
          ...{ name: 'main-c1', startTime: '2026-03-01T11:59:10.000Z' },
          ...{ cpu: { usageNanoCores: 72, usageCoreNanoSeconds: 300 }, memory: { workingSetBytes: 302 } },
        },
        { name: 'main-c2', cpu: { usageCoreNanoSeconds: 400 }, memory: { workingSetBytes: 402 } },
      ],
    });
    expect(stats.containers[1]?.cpu).not.toHaveProperty('usageNanoCores');
    // The stats have no other fields, because only CPU and memory were requested.
    expect(Object.keys(stats)).toEqual(['podRef', 'startTime', 'containers', 'cpu', 'memory', 'swap']);
    expect(Object.keys(stats.containers[0] ?? {})).toEqual(['name', 'startTime', 'cpu', 'memory', 'swap']);
  });

  it('the process count of a pod is the sum of its containers, without the sandbox', () => {
    const groups = [group('/p', 100), group('/p/s1', 200), group('/p/c1', 300), group('/p/c2', 400)];
    expect(podStats(pod, collection(groups), told(), files()).process_stats).toEqual({ process_count: 307 + 407 });
    expect(podStats(pod, collection([group('/p', 100)]), told(), files())).not.toHaveProperty('process_stats');
  });

  it('podStats takes the network from the sandbox and the pressure from the pod cgroup', () => {
    const seen = {
      ...{ name: 'eth0', rxBytes: 1, rxPackets: 2, rxErrors: 3, rxDropped: 4 },
      ...{ txBytes: 5, txPackets: 6, txErrors: 7, txDropped: 8 },
    };
    const groups = [group('/p', 100), { ...group('/p/s1', 200), network: [seen] }, group('/p/c1', 300)];
    const stats = podStats(pod, collection(groups), told(), files());
    expect(stats.network).toMatchObject({ name: 'eth0', rxBytes: 1, txBytes: 5 });
    expect(stats.io).toEqual({ time: TIME });
    expect(stats.containers[0]?.io).toEqual({ time: TIME });
    const without = podStats(pod, collection([]), told(), files());
    expect(Object.keys(without)).toEqual(['podRef', 'startTime', 'containers', 'ephemeral-storage']);
    expect(Object.keys(without.containers[0] ?? {})).toEqual(['name', 'startTime']);
  });

  it('podStats uses runtime stats for a container without a cgroup, and prefers the cgroup if it exists', () => {
    const containers = new Map([
      ['c1', ofContainer({ cpu: { usageCoreNanoSeconds: { value: 11 } }, io: { timestamp: AT_MS * 1e6 } })],
      ['c2', ofContainer({ cpu: { usageCoreNanoSeconds: { value: 12 } }, io: { timestamp: (AT_MS + 7000) * 1e6 } })],
    ]);
    const rates = new Map([['c2', 73]]);
    const some = collection([group('/p/c1', 300)], { rates });
    const [first, second] = podStats(pod, some, told({ containers }), files()).containers;
    expect(first).toMatchObject({ cpu: { usageCoreNanoSeconds: 300 }, io: { time: TIME } });
    expect(second).toMatchObject({ cpu: { usageCoreNanoSeconds: 12, usageNanoCores: 73 }, io: { time: LATER } });
    // The pod has no cgroup either, so its value is the sum of its containers.
    expect(podStats(pod, some, told({ containers })).cpu?.usageCoreNanoSeconds).toBe(312);
    // The stats of the runtime are used for a pod without any cgroup.
    const lost = collection([], { podGroups: { parents: [], pods: new Map() } });
    expect(podStats(pod, lost, told({ containers })).cpu?.usageCoreNanoSeconds).toBe(23);
  });

  describe('podStats with runtime stats as the source', () => {
    const container = (id: string, value: number) =>
      [id, ofContainer({ cpu: { usageCoreNanoSeconds: { value } }, swap: { swapUsageBytes: { value } } })] as const;
    const linux = {
      ...{ cpu: { usageCoreNanoSeconds: { value: 42 } }, memory: { workingSetBytes: { value: 43 } } },
      network: { timestamp: AT_MS * 1e6, defaultInterface: { name: 'ens1' } },
      ...{ io: { timestamp: (AT_MS + 7000) * 1e6 }, process: { processCount: { value: 5 } } },
    };
    const groups = [group('/p', 100), group('/p/s1', 200), group('/p/c1', 300), group('/p/c2', 400)];
    const containers = new Map([container('c1', 11), container('c2', 12)]);

    it("podStats takes a pod's stats from the runtime, and its swap usage as the sum of the containers, which the runtime omits", () => {
      const sandboxes = new Map([['s1', ofSandbox({ linux })]]);
      const rates = new Map([
        ['s1', 74],
        ['c1', 75],
        ['/p', 76],
      ]);
      const stats = podStats(pod, collection(groups, { rates }), told({ containers, sandboxes }), files());
      expect(stats).toMatchObject({
        ...{ cpu: { usageCoreNanoSeconds: 42, usageNanoCores: 74 }, memory: { workingSetBytes: 43 } },
        ...{ swap: { swapUsageBytes: 23 }, io: { time: LATER }, network: { name: 'ens1' } },
        process_stats: { process_count: 5 },
      });
      expect(stats.containers[0]).toMatchObject({ cpu: { usageCoreNanoSeconds: 11, usageNanoCores: 75 } });
      expect(stats.containers[0]).not.toHaveProperty('memory');
    });

    it('podStats omits pod values that the runtime does not report', () => {
      const sandboxes = new Map([['s1', ofSandbox({ linux: {} })]]);
      const stats = podStats(pod, collection(groups), told({ sandboxes }), files());
      expect(Object.keys(stats)).toEqual(['podRef', 'startTime', 'containers', 'ephemeral-storage']);
      const unknown = ofSandbox({ linux: { process: {} } });
      expect(
        podStats(pod, collection(groups), told({ sandboxes: new Map([['s1', unknown]]) }), files()),
      ).not.toHaveProperty('process_stats');
    });

    it("podStats uses the pod's cgroup if the runtime reports stats for other pods only", () => {
      const sandboxes = new Map([
        ['other', ofSandbox({ linux })],
        ['s1', ofSandbox({})],
      ]);
      expect(podStats(pod, collection(groups), told({ sandboxes })).cpu?.usageCoreNanoSeconds).toBe(100);
    });
  });
});

describe('disk usage of a pod', () => {
  const layer = (mountpoint: string, usedBytes?: number, inodesUsed?: number) => ({
    ...{ timestamp: AT_MS * 1e6, fsId: { mountpoint } },
    ...(usedBytes !== undefined && { usedBytes: { value: usedBytes } }),
    ...(inodesUsed !== undefined && { inodesUsed: { value: inodesUsed } }),
  });

  it("ephemeral storage of a pod is the sum of layers, logs, local volumes and files, with the capacity of the node's disk", () => {
    const containers = new Map([
      ['c1', ofContainer({ writableLayer: layer('/layers', 1, 10) })],
      ['c2', ofContainer({ writableLayer: layer('/layers', 2, 20) })],
    ]);
    const storage = {
      disks: new Map([['/layers', disk(5000)]]),
      logs: new Map([['c1', { usedBytes: 4, inodesUsed: 40 }]]),
      podFiles: new Map([
        [
          'u1',
          [
            { usedBytes: 8, inodesUsed: 80 },
            { usedBytes: 16, inodesUsed: 160 },
          ],
        ],
        ['other', [{ usedBytes: 1_000_000, inodesUsed: 1 }]],
      ]),
    };
    const volume = { observedAtMs: AT_MS };
    const volumes = [
      { ...volume, name: 'scratch', isLocalEphemeral: true, usedBytes: 32, inodesUsed: 320 },
      { ...volume, name: 'data', isLocalEphemeral: false, usedBytes: 64, inodesUsed: 640 },
    ];
    const stats = podStats(pod, collection([]), told({ containers }), files(storage, volumes));
    expect(stats['ephemeral-storage']).toEqual({
      ...{
        time: LATER,
        ...sizeOf(1000),
        usedBytes: 1 + 2 + 4 + 8 + 16 + 32,
        inodesUsed: 10 + 20 + 40 + 80 + 160 + 320,
      },
    });
    expect(stats.containers.map(({ rootfs, logs }) => [rootfs, logs])).toEqual([
      [
        { time: TIME, ...sizeOf(5000), usedBytes: 1, inodesUsed: 10 },
        { time: LATER, ...sizeOf(1000), usedBytes: 4, inodesUsed: 40 },
      ],
      [{ time: TIME, ...sizeOf(5000), usedBytes: 2, inodesUsed: 20 }, undefined],
    ]);
  });

  it('podStats omits the root file system of a container without layer stats, and the capacity of a disk that does not respond', () => {
    const containers = new Map([
      ['c1', ofContainer({})],
      ['c2', ofContainer({ writableLayer: layer('/silent', 0) })],
    ]);
    const stats = podStats(pod, collection([]), told({ containers }), files());
    expect(stats.containers.map(({ rootfs }) => rootfs)).toStrictEqual([{ time: null }, { time: TIME, usedBytes: 0 }]);
    expect(stats['ephemeral-storage']).toStrictEqual({ time: LATER, ...sizeOf(1000), usedBytes: 0 });
  });

  it.each([
    ['older than the runtime value', -1, { time: TIME, usedBytes: 1, inodesUsed: 10 }],
    ['at the same time', 0, { time: TIME, usedBytes: 1, inodesUsed: 10 }],
    ['newer', 7000, { time: LATER, usedBytes: 77, inodesUsed: 7 }],
  ])(
    "podStats uses the measured layer usage only if it is newer than the runtime's; the measured usage is %s",
    (_what, laterMs, rootfs) => {
      const containers = new Map([['c1', ofContainer({ writableLayer: layer('/layers', 1, 10) })]]);
      const measured = new Map([['c1', { atMs: AT_MS + laterMs, usedBytes: 77, inodesUsed: 7 }]]);
      const disks = new Map([['/layers', disk(5000, AT_MS)]]);
      const stats = podStats(pod, collection([]), told({ containers }), files({ disks }, [], measured));
      expect(stats.containers[0]?.rootfs).toEqual({ ...sizeOf(5000), ...rootfs });
    },
  );

  it('podStats does not count logs of a container that the runtime does not know, as upstream', () => {
    const storage = { logs: new Map([['c1', { usedBytes: 4, inodesUsed: 40 }]]) };
    const stats = podStats(pod, collection([]), told(), files(storage));
    expect(stats['ephemeral-storage']).toStrictEqual({ time: LATER, ...sizeOf(1000) });
    expect(stats).not.toHaveProperty('volume');
  });

  it('podStats lists each volume, with 0 for unknown values', () => {
    const all = { availableBytes: 1, capacityBytes: 2, usedBytes: 3, inodesFree: 4, inodes: 5, inodesUsed: 6 };
    const none = { availableBytes: 0, capacityBytes: 0, usedBytes: 0, inodesFree: 0, inodes: 0, inodesUsed: 0 };
    const claim = { name: 'claim', namespace: 'shop' };
    const volumes = [
      { name: 'a', observedAtMs: AT_MS, isLocalEphemeral: false, ...all, claim, abnormal: false, isLowerBound: true },
      { name: 'b', observedAtMs: 0, isLocalEphemeral: false },
    ];
    expect(podStats(pod, collection([]), told(), files({}, volumes)).volume).toStrictEqual([
      { time: TIME, ...all, name: 'a', pvcRef: claim, volumeHealthStats: { abnormal: false }, isLowerBound: true },
      { time: null, ...none, name: 'b' },
    ]);
  });
});

describe('node stats of a summary', () => {
  const context = {
    nodeName: 'node-1',
    startedAtMs: AT_MS - 5000,
    volumeUsage: () => [],
    layers: new Map(),
    clock: new FakeClock(),
  };
  const root = group('/', 500);

  it("node stats include the root cgroup, the node's disks and the runtime's file systems", async () => {
    const usage = (usedBytes: number, inodesUsed: number, atMs: number) =>
      messages.FilesystemUsage.create({
        ...{ timestamp: atMs * 1e6, usedBytes: { value: usedBytes }, inodesUsed: { value: inodesUsed } },
      });
    const runtime = {
      images: { usage: usage(1, 2, AT_MS), disk: disk(3000) },
      layers: { usage: usage(3, 4, AT_MS + 7000) },
    };
    const interfaces = [
      {
        ...{ name: 'eth0', rxBytes: 1, rxPackets: 2, rxErrors: 3, rxDropped: 4 },
        ...{ txBytes: 5, txPackets: 6, txErrors: 7, txDropped: 8 },
      },
    ];
    const storage = stored({
      runtime: { status: 'fulfilled', value: runtime },
      processes: { atMs: AT_MS + 7000, max: 100, current: 10 },
    });
    const groups = collection([{ ...root, network: interfaces }], { rates: new Map([['/', 77]]) });
    expect((await fullSummary(groups, storage, context)).node).toStrictEqual({
      ...{ nodeName: 'node-1', startTime: TIME },
      cpu: { time: TIME, usageNanoCores: 77, usageCoreNanoSeconds: 500 },
      memory: {
        ...{ time: TIME, availableBytes: 10_000 - 502, usageBytes: 501, workingSetBytes: 502, rssBytes: 503 },
        ...{ pageFaults: 505, majorPageFaults: 506 },
      },
      swap: { time: TIME, swapAvailableBytes: 20_000 - 504, swapUsageBytes: 504 },
      io: { time: TIME },
      network: {
        ...{ time: TIME, name: 'eth0', rxBytes: 1, rxErrors: 3, txBytes: 5, txErrors: 7 },
        interfaces: [{ name: 'eth0', rxBytes: 1, rxErrors: 3, txBytes: 5, txErrors: 7 }],
      },
      fs: { time: TIME, ...sizeOf(1000), usedBytes: 10, inodesUsed: 10 },
      runtime: {
        imageFs: { time: TIME, ...sizeOf(3000), usedBytes: 1, inodesUsed: 2 },
        containerFs: { time: LATER, usedBytes: 3, inodesUsed: 4 },
      },
      rlimit: { time: LATER, maxpid: 100, curproc: 10 },
    });
  });

  it('node stats omit unknown values', async () => {
    const bare = { path: '/', atMs: AT_MS, monotonicMs: 0 };
    const { node } = await fullSummary(collection([bare], { bootedAtMs: undefined }), stored(), context);
    expect(node).toStrictEqual({
      ...{ nodeName: 'node-1', startTime: null },
      fs: { time: TIME, ...sizeOf(1000), usedBytes: 10, inodesUsed: 10 },
      ...{ runtime: { imageFs: { time: TIME }, containerFs: { time: TIME } }, rlimit: { time: TIME } },
    });
  });

  it.each<[string, Partial<GroupCollection>, number | undefined, number | undefined]>([
    ['is the memory of the machine', {}, 10_000 - 502, 20_000 - 504],
    ['covers memory only if the swap size is unknown', { swapBytes: undefined }, 9498, undefined],
    ['is unknown if the memory size is unknown', { memoryBytes: undefined }, undefined, undefined],
  ])('the memory limit of the node %s', async (_what, more, availableBytes, swapAvailableBytes) => {
    const { node } = await resourceSummary(collection([root], more), context);
    expect([node.memory?.availableBytes, node.swap?.swapAvailableBytes]).toEqual([availableBytes, swapAvailableBytes]);
  });

  it("a summary lists the existing system cgroups, the kubelet's with its start time, and pressure in a full summary", async () => {
    const system: GroupCollection['system'] = [
      { name: 'kubelet', path: '/kubelet' },
      { name: 'runtime', path: '/gone' },
      { name: 'misc', path: '/' },
      { name: 'pods', path: '/kubepods' },
    ];
    const rates = new Map([['/kubepods', 78]]);
    const groups = collection([root, group('/kubelet', 600), group('/kubepods', 700)], { system, rates });
    const { systemContainers } = (await fullSummary(groups, stored(), context)).node;
    expect(systemContainers).toMatchObject([
      {
        name: 'kubelet',
        startTime: '2026-03-01T11:59:55.000Z',
        cpu: { usageCoreNanoSeconds: 600 },
        io: { time: TIME },
      },
      { name: 'misc', startTime: '2026-03-01T11:51:40.000Z', cpu: { usageCoreNanoSeconds: 500 } },
      {
        ...{ name: 'pods', startTime: '2026-03-01T11:48:20.000Z', io: { time: TIME } },
        cpu: { usageCoreNanoSeconds: 700, usageNanoCores: 78 },
      },
    ]);
    const { node, pods } = await resourceSummary(groups, context);
    expect(node.systemContainers?.map((one) => 'io' in one)).toEqual([false, false, false]);
    expect(Object.keys(node)).toEqual(['nodeName', 'systemContainers', 'startTime', 'cpu', 'memory', 'swap']);
    expect(pods.map(({ podRef }) => podRef.uid)).toEqual(['u1']);
    const ofRoot = collection([root], { rates: new Map([['/', 77]]) });
    expect((await resourceSummary(ofRoot, context)).node.cpu?.usageNanoCores).toBe(77);
    expect((await resourceSummary(collection([root]), context)).node).not.toHaveProperty('systemContainers');
  });

  it('podStats queries the volume usage of each pod', async () => {
    const volumeUsage = ({ uid }: { readonly uid: string }) => [
      { name: `of-${uid}`, observedAtMs: AT_MS, isLocalEphemeral: false },
    ];
    const { pods } = await fullSummary(collection([root]), stored(), { ...context, volumeUsage });
    expect(pods[0]?.volume?.map(({ name }) => name)).toEqual(['of-u1']);
  });

  const failed = { status: 'rejected', reason: new Error('no') } as const;
  it.each<[string, Partial<GroupCollection> | undefined, Partial<StorageCollection>, string]>([
    ['its own disk stats', {}, { node: failed }, 'failed to get rootFs stats: no'],
    ['the runtime’s file systems', {}, { runtime: failed }, 'failed to get imageFs stats: no'],
    ['the pod list', { pods: failed }, {}, 'failed to list pod stats: no'],
    ['a root cgroup', { groups: new Map() }, {}, 'failed to get root cgroup stats: the root cgroup has none'],
  ])('fullSummary fails without %s and names the missing part', async (_what, groups, storage, message) => {
    const asked = () => fullSummary(collection([root], groups), stored(storage), context);
    await expect(asked()).rejects.toThrow(message);
    await expect(asked()).rejects.toThrow(StatsError);
  });
});

describe('summaryJson', () => {
  const onWire = (node: object, pods: readonly object[] = []): unknown =>
    JSON.parse(summaryJson({ node, pods } as unknown as Parameters<typeof summaryJson>[0]));

  it('summaryJson writes times as whole seconds and unknown times as null', () => {
    const node = { nodeName: '2026-03-01T12:00:00.500Z', startTime: '2026-03-01T12:00:00.500Z' };
    expect(onWire({ ...node, cpu: { time: null }, memory: { time: '2026-03-01T12:00:09.999Z' } })).toEqual({
      node: {
        ...{ nodeName: '2026-03-01T12:00:00.500Z', startTime: '2026-03-01T12:00:00Z' },
        ...{ cpu: { time: null }, memory: { time: '2026-03-01T12:00:09Z' } },
      },
      pods: [],
    });
  });

  it.each([
    [0, 0],
    [-1, undefined],
    [2 ** 63 - 1024, 2 ** 63 - 1024],
    [2 ** 63, undefined],
    [Number.NaN, undefined],
    [Number.POSITIVE_INFINITY, undefined],
  ])('summaryJson writes the number %d as %s', (value, expected) => {
    expect(onWire({ cpu: { usageCoreNanoSeconds: value } })).toEqual({
      ...{ node: { cpu: { ...(expected !== undefined && { usageCoreNanoSeconds: expected }) } }, pods: [] },
    });
  });

  it('summaryJson omits usage values of a volume that are only lower bounds', () => {
    const volume = { name: 'v', usedBytes: 1, inodesUsed: 2, capacityBytes: 3 };
    expect(onWire({}, [{ volume: [{ ...volume, isLowerBound: true }, volume] }])).toEqual({
      ...{ node: {}, pods: [{ volume: [{ name: 'v', capacityBytes: 3 }, volume] }] },
    });
  });
});
