import type { Pod } from '@node-agent/pod-spec';
import { describe, expect, test } from 'vitest';
import {
  EvictionError,
  type EvictionPodStats,
  evictionMessage,
  formatThreshold,
  parseThresholds,
  rankPods,
  type Signal,
  type Threshold,
} from '../src/index.ts';
import { asking, files, MI, makePod, ONE_DISK, podStats, usingMemory } from './world.ts';

// The test cases of upstream's `pkg/kubelet/eviction/helpers_test.go`.

/** A pod's name, request, priority and usage of its layer, its logs and its volume, in MiB or thousands of inodes. */
type Case = readonly [name: string, request: string, priority: number, ...used: readonly number[]];

function ranked(
  signal: Signal,
  resource: string,
  cases: readonly Case[],
  stats: (pod: Pod, used: readonly number[]) => EvictionPodStats,
) {
  const all = cases.map(([name, request, priority, ...used]) => {
    const volumes = [{ name: 'local-volume', emptyDir: {} }];
    const pod = makePod(name, { ...asking(request ? { [resource]: request } : {}), priority, volumes });
    return { pod, stats: stats(pod, used) };
  });
  const byUid = new Map(all.map((one) => [one.pod.metadata.uid, one.stats]));
  const order = rankPods(
    signal,
    all.map(({ pod }) => pod).reverse(),
    ({ metadata }) => byUid.get(metadata.uid),
    ONE_DISK,
  );
  return order.map(({ pod }) => pod.metadata.name);
}

const memoryOf = (pod: Pod, [mebibytes = 0]: readonly number[]): EvictionPodStats => usingMemory(pod, mebibytes * MI);
const diskOf = (pod: Pod, [rootfs = 0, logs = 0, volume = 0]: readonly number[]): EvictionPodStats =>
  podStats(pod, {
    containers: [{ name: 'main', rootfs: files(rootfs * MI, rootfs), logs: files(logs * MI, logs) }],
    volume: [{ name: 'local-volume', ...files(volume * MI, volume) }],
  });
const processesOf = (pod: Pod, [process_count = 0]: readonly number[]): EvictionPodStats =>
  podStats(pod, { process_stats: { process_count } });

describe("rankPods: upstream's test cases", () => {
  test.each<[string, Signal, string, typeof memoryOf, readonly Case[]]>([
    [
      'TestOrderedByExceedsRequestMemory',
      'memory.available',
      'memory',
      memoryOf,
      [
        ['exceeds-requests', '100Mi', 1, 101],
        ['below-requests', '200Mi', -1, 199],
      ],
    ],
    [
      'TestOrderedByPriorityMemory',
      'memory.available',
      'memory',
      memoryOf,
      [
        ['above-requests-low-priority-high-usage', '', -1, 500],
        ['above-requests-low-priority-low-usage', '', -1, 50],
        ['above-requests-high-priority-high-usage', '100Mi', 1, 600],
        ['above-requests-high-priority-low-usage', '100Mi', 1, 150],
        ['below-requests-low-priority-high-usage', '1Gi', -1, 800],
        ['below-requests-low-priority-low-usage', '1Gi', -1, 200],
        ['below-requests-high-priority-high-usage', '1Gi', 1, 800],
        ['below-requests-high-priority-low-usage', '1Gi', 1, 200],
      ],
    ],
    [
      'TestOrderedByMemory',
      'allocatableMemory.available',
      'memory',
      memoryOf,
      [
        ['burstable-high', '100Mi', 0, 800],
        ['best-effort-high', '', 0, 500],
        ['best-effort-low', '', 0, 300],
        ['burstable-low', '100Mi', 0, 300],
        ['guaranteed-high', '1Gi', 0, 800],
        ['guaranteed-low', '1Gi', 0, 200],
      ],
    ],
    [
      'TestOrderedByExceedsRequestDisk',
      'nodefs.available',
      'ephemeral-storage',
      diskOf,
      [
        ['exceeds-requests', '100Mi', 1, 90, 11, 0],
        ['below-requests', '200Mi', -1, 100, 99, 0],
      ],
    ],
    [
      'TestOrderedbyDisk',
      'nodefs.available',
      'ephemeral-storage',
      diskOf,
      [
        ['best-effort-high', '', 0, 50, 100, 150],
        ['burstable-high', '100Mi', 0, 150, 150, 50],
        ['best-effort-low', '', 0, 25, 25, 50],
        ['burstable-low', '100Mi', 0, 25, 35, 50],
        ['guaranteed-high', '400Mi', 0, 225, 100, 50],
        ['guaranteed-low', '400Mi', 0, 25, 45, 50],
      ],
    ],
    [
      'TestOrderedByPriorityDisk',
      'imagefs.available',
      'ephemeral-storage',
      diskOf,
      [
        ['above-requests-low-priority-high-usage', '', -1, 200, 100, 200],
        ['above-requests-low-priority-low-usage', '', -1, 10, 10, 30],
        ['above-requests-high-priority-high-usage', '100Mi', 1, 200, 150, 250],
        ['above-requests-high-priority-low-usage', '100Mi', 1, 90, 50, 10],
        ['below-requests-low-priority-high-usage', '1Gi', -1, 500, 200, 100],
        ['below-requests-low-priority-low-usage', '1Gi', -1, 50, 100, 50],
        ['below-requests-high-priority-high-usage', '1Gi', 1, 250, 500, 50],
        ['below-requests-high-priority-low-usage', '1Gi', 1, 100, 60, 40],
      ],
    ],
    [
      'TestOrderedbyInodes',
      'nodefs.inodesFree',
      'ephemeral-storage',
      diskOf,
      [
        ['high', '', 0, 200, 150, 50],
        ['medium', '', 0, 100, 150, 50],
        ['low', '', 0, 50, 100, 50],
      ],
    ],
    [
      'TestOrderedByPriorityProcess',
      'pid.available',
      'memory',
      processesOf,
      [
        ['low-priority-high-usage', '', -1, 20],
        ['low-priority-low-usage', '', -1, 6],
        ['high-priority-high-usage', '', 1, 20],
        ['high-priority-low-usage', '', 1, 5],
      ],
    ],
  ])('rankPods orders pods as upstream in %s', (_name, signal, resource, stats, cases) => {
    expect(ranked(signal, resource, cases, stats)).toEqual(cases.map(([name]) => name));
  });
});

describe("evictionMessage: upstream's test cases", () => {
  const [memory] = parseThresholds({ evictionHard: { 'memory.available': '100Mi' } }) as [Threshold];
  type Container = readonly [name: string, requestMi: number];
  type Use = readonly [name: string, mebibytes: number];

  test.each<[string, readonly Container[], readonly Container[], readonly Use[], readonly string[]]>([
    [
      'no container exceeds its request',
      [
        ['init1', 100],
        ['side1', 200],
      ],
      [['regular1', 200]],
      [
        ['side1', 150],
        ['regular1', 100],
      ],
      [],
    ],
    [
      'an init container exceeds its request',
      [['init1', 100]],
      [['regular1', 200]],
      [['init1', 150]],
      ['init1 150Mi 100Mi'],
    ],
    [
      'a sidecar exceeds its request',
      [
        ['side1', 200],
        ['side2', 200],
      ],
      [['regular1', 200]],
      [
        ['side1', 250],
        ['side2', 150],
        ['regular1', 200],
      ],
      ['side1 250Mi 200Mi'],
    ],
    [
      'an ephemeral container uses memory without a request',
      [],
      [['regular1', 200]],
      [
        ['regular1', 150],
        ['ephemeral1', 250],
      ],
      [],
    ],
    [
      'several containers exceed their requests, and some have none',
      [
        ['init1', 100],
        ['side1', 0],
        ['side2', 300],
      ],
      [['regular1', 0]],
      [
        ['side1', 250],
        ['side2', 250],
        ['regular1', 200],
      ],
      ['side1 250Mi 0', 'regular1 200Mi 0'],
    ],
  ])(
    'evictionMessage names the containers above their requests as upstream: %s',
    (_name, initContainers, containers, used, offending) => {
      const made = ([name, requestMi]: Container) => ({
        ...{ name, image: 'x' },
        ...(requestMi > 0 && { resources: { requests: { memory: `${requestMi}Mi` } } }),
      });
      const pod = makePod('pod', {
        initContainers: initContainers.map(made),
        containers: containers.map(made),
        ephemeralContainers: [{ name: 'ephemeral1', image: 'x' }],
      });
      const stats = podStats(pod, {
        containers: used.map(([name, mebibytes]) => ({
          name,
          memory: { time: null, workingSetBytes: mebibytes * MI },
        })),
      });
      const { message, annotations } = evictionMessage(pod, stats, memory, new Map());
      const said = offending.map((one) => one.split(' ') as [string, string, string]);
      const words = said.map(
        ([name, usage, request]) =>
          `Container ${name} was using ${usage}, request is ${request}, has larger consumption of memory. `,
      );
      expect(message).toBe(`The node was low on resource: memory. ${words.join('')}`);
      expect(annotations).toEqual({
        offending_containers: said.map(([name]) => name).join(),
        offending_containers_usage: said.map(([, usage]) => usage).join(),
        starved_resource: 'memory',
      });
    },
  );
});

describe("parseThresholds: upstream's test cases", () => {
  const at30s = (...signals: readonly string[]) => Object.fromEntries(signals.map((signal) => [signal, 30_000]));

  test.each([
    [{}, []],
    [
      {
        evictionHard: { 'memory.available': '150Mi' },
        evictionSoft: { 'memory.available': '300Mi' },
        evictionSoftGracePeriodMs: at30s('memory.available'),
        evictionMinimumReclaim: { 'memory.available': '0' },
        enforcesAllocatable: true,
      },
      ['memory.available<150Mi', 'memory.available<300Mi for 30s', 'allocatableMemory.available<150Mi'],
    ],
    [
      {
        evictionHard: { 'imagefs.available': '15%', 'nodefs.available': '10.5%' },
        evictionSoft: { 'imagefs.available': '30%', 'nodefs.available': '20.5%' },
        evictionSoftGracePeriodMs: at30s('imagefs.available', 'nodefs.available'),
        evictionMinimumReclaim: { 'imagefs.available': '10%', 'nodefs.available': '5%' },
      },
      [
        ...['imagefs.available<15%', 'nodefs.available<10.5%'],
        ...['imagefs.available<30% for 30s', 'nodefs.available<20.5% for 30s'],
      ],
    ],
    [{ evictionHard: { 'memory.available': '0%' }, evictionSoft: { 'memory.available': '0%' } }, []],
    [{ evictionHard: { 'memory.available': '100%' }, evictionSoft: { 'memory.available': '100%' } }, []],
  ])('parseThresholds reads as upstream: %j', (settings, expected) => {
    expect(parseThresholds(settings).map(formatThreshold)).toEqual(expected);
  });

  test.each([
    { evictionHard: { 'mem.available': '150Mi' } },
    { evictionHard: { 'memory.available': '-150Mi' } },
    { evictionHard: { 'memory.available': '-15%' } },
    { evictionHard: { 'memory.available': '150%' } },
    { evictionHard: { 'memory.available': '150Mi', 'invalid.foo': '150Mi' } },
    { evictionHard: { 'memory.available': '' } },
    { evictionHard: { 'memory.available': '10..5%' } },
    { evictionSoft: { 'memory.available': '-150Mi' } },
    { evictionSoft: { 'memory.available': '150Mi' } },
    { evictionSoft: { 'memory.available': '150Mi' }, evictionSoftGracePeriodMs: { 'memory.available': -30_000 } },
    { evictionSoft: { 'memory.available': '150Mi' }, evictionSoftGracePeriodMs: at30s('mem.available') },
    { evictionMinimumReclaim: { 'memory.available': '-300Mi' } },
    { evictionMinimumReclaim: { 'mem.available': '300Mi' } },
    { evictionMinimumReclaim: { 'memory.available': '' } },
    { evictionMinimumReclaim: { 'memory.available': '-15%' } },
    { evictionMinimumReclaim: { 'memory.available': '10..5%' } },
  ])('parseThresholds rejects as upstream: %j', (settings) => {
    expect(() => parseThresholds(settings)).toThrow(EvictionError);
  });
});
