import { systemClock } from '@node-agent/async';
import { FakeClock } from '@node-agent/async/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cadvisorMetrics } from '../src/cadvisor-metrics.ts';
import { expositionPortions, expositionText, type MetricSource } from '../src/exposition.ts';
import type { GroupCollection } from '../src/group-collection.ts';
import type { GroupFigures } from '../src/group-figures.ts';
import { labelText, SharedLabels } from '../src/label-text.ts';
import { fullSummary, resourceSummary } from '../src/node-summary.ts';
import { resourceMetrics } from '../src/resource-metrics.ts';
import { runtimeMetrics } from '../src/runtime-metrics.ts';
import { StatsProvider } from '../src/stats-provider.ts';
import type { StorageCollection } from '../src/storage-collection.ts';
import { type NodeSummary, type PodStats, summaryJson, summaryPortions } from '../src/summary.ts';
import { World } from './world.ts';

const PODS = 100;

/** A clock for work that takes half a millisecond per item that counts the items of each turn of the event loop. */
class Work {
  readonly clock: FakeClock = new FakeClock();
  readonly #turns = new Map<number, number>();

  item(): void {
    this.clock.spend(0.5);
    this.#turns.set(this.clock.firedTimers, (this.#turns.get(this.clock.firedTimers) ?? 0) + 1);
  }

  /** Runs a task. Returns its result, the number of turns with items, and the most items in one turn. */
  async run<T>(task: Promise<T>): Promise<{ readonly result: T; readonly turns: object }> {
    await this.clock.advance(10_000);
    return { result: await task, turns: { turns: this.#turns.size, most: Math.max(...this.#turns.values()) } };
  }
}

/** Number of turns, and most items in one turn: 8 items between two reads of the clock, and slices of 10 ms. */
const IN_SLICES = { turns: 5, most: 24 };

async function textOf(portions: AsyncIterable<Uint8Array>): Promise<string> {
  const all: Uint8Array[] = [];
  for await (const portion of portions) all.push(portion);
  return Buffer.concat(all).toString();
}

const group = (path: string): GroupFigures => ({ path, atMs: 1_700_000_000_000, monotonicMs: 1 });
const listed = (index: number) => ({
  ref: { name: `p${index}`, namespace: 'ns', uid: `u${index}` },
  ...{ sandboxId: `s${index}`, createdAtMs: 1, containers: [] },
});

function collection(groups: readonly GroupFigures[], pods: readonly object[] = []): GroupCollection {
  return {
    ...{ detail: 'full', bootedAtMs: 0, memoryBytes: 1, swapBytes: 1, system: [], rates: new Map() },
    groups: new Map(groups.map((one) => [one.path, one])),
    podGroups: { parents: [], pods: new Map() },
    pods: { status: 'fulfilled', value: { pods, containers: new Map(), sandboxes: undefined, images: new Map() } },
  } as GroupCollection;
}

const disk = { totalBytes: 1, freeBytes: 1, availableBytes: 1, inodes: 1, freeInodes: 1, atMs: 1 };
const used = { usage: { timestamp: 1, usedBytes: null, inodesUsed: null } };
const storage = {
  node: { status: 'fulfilled', value: disk },
  runtime: { status: 'fulfilled', value: { images: used, layers: used } },
  ...{ disks: new Map(), logs: new Map(), podFiles: new Map(), processes: { atMs: 1 } },
} as unknown as StorageCollection;
const podStats = (index: number): PodStats => ({
  ...{ podRef: { name: `p${index}`, namespace: 'ns', uid: `u${index}` }, startTime: null, containers: [] },
});
const machine = {
  ...{ machineId: 'm', systemUuid: 's', bootId: 'b', kernelVersion: 'k', osVersion: 'o' },
  ...{ cpus: 1, physicalCores: 1, sockets: 1, memoryBytes: 1, swapBytes: 1 },
};

describe('work per turn of the event loop', () => {
  it('expositionPortions writes at most 24 samples in one turn if each takes half a millisecond', async () => {
    const work = new Work();
    function* samples() {
      for (let index = 0; index < PODS; index++) {
        work.item();
        yield { labels: { index: `${index}` }, value: index };
      }
    }
    const family = (source: MetricSource['samples']): MetricSource[] => [
      { name: 'm', help: 'h', type: 'gauge', samples: source },
    ];
    const { result, turns } = await work.run(textOf(expositionPortions(family(samples()), work)));
    expect(turns).toEqual(IN_SLICES);
    expect(result).toBe(expositionText(family(samples())));
  });

  it('cadvisorMetrics makes samples only while they are written, at most 24 cgroups in one turn if each takes half a millisecond', async () => {
    const work = new Work();
    const groups = Array.from({ length: PODS }, (_, index) => ({
      ...group(`/g${index}`),
      processes: {
        get processes() {
          work.item();
          return index;
        },
      },
    }));
    const families = cadvisorMetrics({
      ...{ machine, groups: collection(groups), fileSystems: [], devices: new Map(), nowMs: 1 },
    });
    expect(work.clock.monotonic()).toBe(0);
    const { result, turns } = await work.run(textOf(expositionPortions(families, work)));
    expect(turns).toEqual(IN_SLICES);
    expect(result.match(/^container_processes\{/gm)).toHaveLength(PODS);
  });

  it('resourceMetrics makes samples only while they are written', () => {
    const work = new Work();
    const pod = {
      ...podStats(1),
      get cpu() {
        work.item();
        return { time: null, usageCoreNanoSeconds: 1e9 };
      },
    };
    const families = resourceMetrics({ node: { nodeName: 'n', startTime: null }, pods: [pod] });
    expect(work.clock.monotonic()).toBe(0);
    expect(expositionText(families)).toContain('\npod_cpu_usage_seconds_total{namespace="ns",pod="p1"} 1\n');
  });

  it('runtimeMetrics converts at most 24 metrics in one turn if each takes half a millisecond', async () => {
    const work = new Work();
    const metrics = Array.from({ length: PODS }, (_, index) => ({
      ...{ timestamp: 0, metricType: 1, labelValues: [`${index}`], value: { value: index } },
      get name() {
        work.item();
        return 'm';
      },
    }));
    const pods = [{ podSandboxId: 's', metrics: [], containerMetrics: [{ containerId: 'c', metrics }] }];
    const descriptors = [{ name: 'm', help: 'h', labelKeys: ['id'] }];
    const { result, turns } = await work.run(runtimeMetrics(descriptors, pods, work));
    expect(turns).toEqual(IN_SLICES);
    expect(result[0]?.samples).toHaveLength(PODS);
  });

  it.each<[string, (groups: GroupCollection, clock: FakeClock) => Promise<NodeSummary>]>([
    [
      'fullSummary',
      (groups, clock) =>
        fullSummary(groups, storage, {
          ...{ nodeName: 'n', startedAtMs: 1, volumeUsage: () => [], layers: new Map(), clock },
        }),
    ],
    ['resourceSummary', (groups, clock) => resourceSummary(groups, { nodeName: 'n', startedAtMs: 1, clock })],
  ])('%s builds at most 24 pods in one turn if each takes half a millisecond', async (_name, summary) => {
    const work = new Work();
    const pods = Array.from({ length: PODS }, (_, index) => ({
      ...listed(index),
      get createdAtMs() {
        work.item();
        return 1;
      },
    }));
    const { result, turns } = await work.run(summary(collection([group('/')], pods), work.clock));
    expect(turns).toEqual(IN_SLICES);
    expect(result.pods.map(({ podRef }) => podRef.name)).toEqual(pods.map(({ ref }) => ref.name));
  });

  it('summaryPortions serializes at most 24 pods in one turn if each takes half a millisecond', async () => {
    const work = new Work();
    const pods = Array.from({ length: PODS }, (_, index) => ({
      ...podStats(index),
      get containers() {
        work.item();
        return [];
      },
    }));
    const summary = { node: { nodeName: 'n', startTime: null }, pods };
    const { result, turns } = await work.run(textOf(summaryPortions(summary, work)));
    expect(turns).toEqual(IN_SLICES);
    expect(result).toBe(summaryJson(summary));
    expect(JSON.parse(result)).toEqual(summary);
  });
});

describe('portions of pages', () => {
  it('the portions of /metrics/cadvisor and /metrics/resource have the same text as the string', async () => {
    const world = new World(2);
    await world.writeMachine();
    await world.writeGroup('/', { cpuNs: 9_000_000_000, usage: 6000, inactiveFile: 2000, rss: 900 });
    await world.addPod({ cpuNs: 5_000_000_000, usage: 3000, inactiveFile: 1000, rss: 700, pids: [11] });
    const options = { nodeName: 'n', rootDirectory: '/var/lib/kubelet', podLogsDirectory: '/var/log/pods' };
    const provider = new StatsProvider(world.components, options);
    const { signal } = new AbortController();
    const cadvisor = await textOf(provider.cadvisorPortions(signal));
    expect(cadvisor).toMatch(/^container_memory_working_set_bytes\{container="main"/m);
    expect(cadvisor).toBe(await provider.cadvisorMetrics(signal));
    const resource = await textOf(provider.resourcePortions(signal));
    expect(resource).toContain('pod_memory_working_set_bytes{namespace="default",pod="web"} 2000 ');
    expect(resource).toBe(await provider.resourceMetrics(signal));
  });

  it('the portions of a page end with the reason of the signal', async () => {
    const family: MetricSource = { name: 'm', help: 'h', type: 'gauge', samples: endless() };
    const abort = new AbortController();
    const text = textOf(expositionPortions([family], { clock: systemClock }, abort.signal));
    abort.abort(new Error('the client disconnected'));
    await expect(text).rejects.toThrow('the client disconnected');
  });
});

function* endless() {
  for (let index = 0; ; index++) yield { labels: { index: `${index}` }, value: index };
}

describe('SharedLabels', () => {
  const names = ['a', 'container', 'device', 'id', 'image', 'z'];
  const labels = fc.dictionary(fc.constantFrom(...names), fc.string());
  const others = fc.dictionary(fc.constantFrom(...names.map((name) => `${name}_`), 'b', 'Z'), fc.string());

  it('SharedLabels formats shared and other labels as if they were one set of labels', () => {
    fc.assert(
      fc.property(labels, others, (shared, more) => {
        const formatted = new SharedLabels(shared);
        expect(formatted.textWith(more)).toBe(labelText({ ...shared, ...more }));
        expect(formatted.text).toBe(labelText(shared));
      }),
    );
  });
});
