import type { Pod } from '@node-agent/pod-spec';
import { describe, expect, test } from 'vitest';
import {
  admitUnderPressure,
  EvictionError,
  type EvictionPodStats,
  type EvictionSummary,
  evictionMessage,
  observe,
  parseThresholds,
  type Signal,
  storageViolation,
} from '../src/index.ts';
import { hasStorageLimit } from '../src/local-storage.ts';
import { diskUsage, memoryUsage } from '../src/pod-usage.ts';
import { asking, files, makePod, podStats, usingMemory } from './world.ts';

const time = '2026-01-01T00:00:00Z';

describe('observe', () => {
  const shown = (node: EvictionSummary['node']): string[] =>
    [...observe({ pods: [], node }).observations].map(([signal, of]) => `${signal} ${of.available} of ${of.capacity}`);

  test('observe reads bytes as binary quantities and counts as decimal quantities', () => {
    const fs = { time, availableBytes: 2048, capacityBytes: 4096, inodesFree: 3000, inodes: 4000 };
    expect(shown({ fs, rlimit: { time, maxpid: 4000, curproc: 1000 } })).toEqual([
      'nodefs.available 2Ki of 4Ki',
      'nodefs.inodesFree 3k of 4k',
      'pid.available 3k of 4k',
    ]);
  });

  test('observe accepts an empty disk', () => {
    expect(shown({ fs: { time, availableBytes: 4096, capacityBytes: 4096 } })).toEqual(['nodefs.available 4Ki of 4Ki']);
  });

  test('observe ignores process stats with only one of the two values, without a fault', () => {
    for (const rlimit of [
      { time, maxpid: 5 },
      { time, curproc: 5 },
    ]) {
      expect(observe({ pods: [], node: { rlimit } })).toEqual({ observations: new Map(), faults: [] });
    }
  });

  test.each([null, 'yesterday'])('observe treats stats with the time %s as stats without a time', (of) => {
    const { observations } = observe({ pods: [], node: { fs: { time: of, availableBytes: 1, capacityBytes: 2 } } });
    expect(observations.get('nodefs.available')).toHaveProperty('atMs', undefined);
  });
});

describe('diskUsage and memoryUsage', () => {
  const volumes = [
    { name: 'scratch', emptyDir: {} },
    { name: 'settings', configMap: { name: 'x' } },
    { name: 'claim', persistentVolumeClaim: { claimName: 'x' } },
  ];
  const pod = makePod('pod', { volumes });
  const stats = podStats(pod, {
    containers: [
      { name: 'main', rootfs: files(1024, 1000), logs: files(8 * 1024, 8000) },
      { name: 'side', rootfs: files(1024, 1000) },
    ],
    volume: [
      { name: 'scratch', ...files(32 * 1024, 32_000) },
      { name: 'settings', ...files(64 * 1024, 64_000) },
      { name: 'claim', ...files(2 ** 20, 1e6) },
      files(2 ** 20, 1e6),
    ],
  });

  test.each([
    [['images'] as const, '0', '0'],
    [['rootfs'] as const, '2Ki', '2k'],
    [['logs'] as const, '8Ki', '8k'],
    [['volumes'] as const, '96Ki', '96k'],
    [['images', 'rootfs', 'logs', 'volumes'] as const, '106Ki', '106k'],
  ])('diskUsage of the parts %j of a pod is %s bytes and %s inodes', (parts, inBytes, inInodes) => {
    expect(String(diskUsage(pod, stats, parts, 'ephemeral-storage'))).toBe(inBytes);
    expect(String(diskUsage(pod, stats, parts, 'inodes'))).toBe(inInodes);
  });

  test('diskUsage and memoryUsage are 0 if the stats are missing', () => {
    expect(String(diskUsage(pod, podStats(pod), ['rootfs', 'logs', 'volumes'], 'ephemeral-storage'))).toBe('0');
    expect(String(memoryUsage({}))).toBe('0');
    expect(String(memoryUsage({ memory: { time, workingSetBytes: 2048 } }))).toBe('2Ki');
  });
});

describe('storageViolation', () => {
  const limited = makePod('pod', asking({}, { 'ephemeral-storage': '100' }));
  const signalOf = (pod: Pod, stats: Partial<EvictionPodStats>): string | undefined =>
    storageViolation(pod, podStats(pod, stats))?.signal;

  test.each<[string, Partial<EvictionPodStats>, string | undefined]>([
    ['a pod exactly at its limit', { 'ephemeral-storage': files(100) }, undefined],
    ['a pod above its limit', { 'ephemeral-storage': files(101) }, 'ephemeralpodfs.limit'],
    ['a pod without stats', {}, undefined],
    [
      'a container above its own limit',
      { containers: [{ name: 'main', logs: files(101) }] },
      'ephemeralcontainerfs.limit',
    ],
  ])('the storageViolation of %s has the signal $2', (_title, stats, expected) => {
    expect(signalOf(limited, stats)).toBe(expected);
  });

  test('storageViolation detects a container over its limit by its writable layer while the pod is below the sum of the limits', () => {
    const containers = ['writer', 'side'].map((name) => ({
      ...{ name, image: 'x', resources: { limits: { 'ephemeral-storage': '100' } } },
    }));
    const stats = {
      'ephemeral-storage': files(150),
      containers: [
        { name: 'writer', rootfs: files(140), logs: files(5) },
        { name: 'side', rootfs: files(5) },
      ],
    };
    expect(signalOf(makePod('pod', { containers }), stats)).toBe('ephemeralcontainerfs.limit');
  });

  test('storageViolation checks only pods that have a limit', () => {
    const two = (...limits: string[]): Pod =>
      makePod('pod', {
        containers: ['a', 'b'].map((name, at) => {
          const limit = limits[at];
          return {
            ...{ name, image: 'x' },
            ...(limit !== undefined && { resources: { limits: { 'ephemeral-storage': limit } } }),
          };
        }),
      });
    expect([hasStorageLimit(two('1')), hasStorageLimit(two('1', '2')), hasStorageLimit(two())]).toEqual([
      true,
      true,
      false,
    ]);
    const sized = (emptyDir: object): Pod => makePod('pod', { volumes: [{ name: 'v', emptyDir }] });
    expect([hasStorageLimit(sized({ sizeLimit: '1' })), hasStorageLimit(sized({}))]).toEqual([true, false]);
  });
});

describe('evictionMessage', () => {
  const words = (signal: Signal, pod: Pod, stats: EvictionPodStats): string => {
    const [threshold] = parseThresholds({ evictionHard: { [signal]: '1' } });
    return threshold === undefined ? '' : evictionMessage(pod, stats, threshold, new Map()).message;
  };
  const pod = makePod('pod');
  const low = (resource: string): string => `The node was low on resource: ${resource}. `;

  test('evictionMessage omits missing stats', () => {
    expect(words('memory.available', pod, podStats(pod))).toBe(low('memory'));
    expect(words('memory.available', pod, usingMemory(pod, 5))).toContain('Container main was using 5');
  });

  test.each<[EvictionPodStats['containers'], string]>([
    [[{ name: 'main', rootfs: files(2), logs: files(3) }], 'Container main was using 5, '],
    [[{ name: 'main', rootfs: files(2) }], ''],
    [[{ name: 'main', logs: files(3) }], ''],
  ])(
    'evictionMessage gives the disk usage of a container only if rootfs and logs are known: %j',
    (containers = [], expected) => {
      const message = words('nodefs.available', pod, podStats(pod, { containers }));
      expect(message.startsWith(low('ephemeral-storage') + expected)).toBe(true);
      expect(message.includes('Container')).toBe(expected !== '');
      expect(words('nodefs.inodesFree', pod, podStats(pod, { containers }))).toBe(low('inodes'));
    },
  );

  test('evictionMessage names the pod only if the pod has a pod-level request of the resource memory and memory is short', () => {
    const cpu = makePod('pod', { resources: { requests: { cpu: '1' } } });
    expect(words('memory.available', cpu, usingMemory(cpu, 80))).not.toContain('Pod pod');
    const asks = makePod('pod', { resources: { requests: { memory: '1', 'ephemeral-storage': '1' } } });
    expect(words('memory.available', asks, podStats(asks))).toBe(low('memory'));
    expect(words('nodefs.available', asks, usingMemory(asks, 80))).toBe(low('ephemeral-storage'));
  });
});

describe('parseThresholds', () => {
  const caught = (settings: Parameters<typeof parseThresholds>[0]): Error => {
    try {
      parseThresholds(settings);
    } catch (err) {
      if (EvictionError.is(err)) return err;
    }
    throw new Error('was not refused');
  };

  test('parseThresholds rejects an unknown signal with a list of all signals, and sets a cause only if there is one', () => {
    const unknown = caught({ evictionHard: { memory: '1' } });
    expect(unknown.message).toContain(
      'must be an eviction signal: memory.available, allocatableMemory.available, nodefs.available, ',
    );
    expect(unknown).not.toHaveProperty('cause');
    expect(caught({ evictionHard: { 'memory.available': 'lots' } }).cause).toBeInstanceOf(Error);
  });

  test('parseThresholds accepts a small minimum reclaim percentage and rejects an infinite one', () => {
    const reclaim = (text: string) => ({ evictionMinimumReclaim: { 'memory.available': text } });
    expect(() => parseThresholds(reclaim('0.5%'))).not.toThrow();
    expect(caught(reclaim('1e999%')).message).toContain('"1e999%" must be a percentage above 0%');
  });
});

describe('admitUnderPressure with the memory pressure taint', () => {
  const key = 'node.kubernetes.io/memory-pressure';
  const admits = (operator: string, value?: string): boolean => {
    const tolerations = [{ key, operator, ...(value !== undefined && { value }) }];
    return admitUnderPressure(makePod('pod', { tolerations } as Partial<Pod['spec']>), ['MemoryPressure']).admit;
  };

  test.each([
    ['', undefined, true],
    ['Equal', undefined, true],
    ['Equal', '', true],
    ['Equal', 'x', false],
    ['Exists', undefined, true],
    ['Lt', undefined, false],
  ])(
    'a toleration of the memory pressure taint with operator %j and value %j admits the pod: %j',
    (operator, value, expected) => {
      expect(admits(operator, value)).toBe(expected);
    },
  );
});
