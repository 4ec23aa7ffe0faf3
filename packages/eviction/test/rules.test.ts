import { type Pod, parseQuantity, Quantity } from '@node-agent/pod-spec';
import { describe, expect, test } from 'vitest';
import {
  admitUnderPressure,
  conditionOf,
  type DiskLayout,
  diskPartsOf,
  EvictionError,
  type EvictionPodStats,
  type EvictionSummary,
  evictionMessage,
  formatThreshold,
  observe,
  parseThresholds,
  quantityOf,
  rankPods,
  reclaimsOf,
  resourceOf,
  SIGNALS,
  type Signal,
  storageViolation,
  type Threshold,
  type ThresholdSettings,
  withContainerFs,
} from '../src/index.ts';
import { asking, files, MI, makePod, ONE_DISK, podStats, usingMemory } from './world.ts';

const IMAGES_APART: DiskLayout = { dedicatedImageFs: true, splitContainerFs: false };
const SPLIT: DiskLayout = { dedicatedImageFs: true, splitContainerFs: true };

describe('parseThresholds', () => {
  const shown = (settings: ThresholdSettings): string[] => parseThresholds(settings).map(formatThreshold);

  test('parseThresholds reads quantities, percentages, grace periods and minimum reclaims', () => {
    const thresholds = parseThresholds({
      evictionHard: { 'memory.available': '100Mi', 'nodefs.available': '10%' },
      evictionSoft: { 'memory.available': '1.5Gi' },
      evictionSoftGracePeriodMs: { 'memory.available': 90_000 },
      evictionMinimumReclaim: { 'memory.available': '0', 'nodefs.available': '5%' },
    });
    expect(thresholds.map(formatThreshold)).toEqual([
      'memory.available<100Mi',
      'nodefs.available<10%',
      'memory.available<1536Mi for 90s',
    ]);
    expect(thresholds[1]?.minReclaim).toEqual({ fraction: Math.fround(0.05) });
    expect(thresholds[2]?.minReclaim).toEqual({ quantity: parseQuantity('0') });
  });

  test.each(['0%', '100%'])('parseThresholds treats %s as no threshold, and requires no grace period for it', (off) => {
    expect(shown({ evictionHard: { 'nodefs.available': off }, evictionSoft: { 'pid.available': off } })).toEqual([]);
  });

  // As upstream, only the exact texts "0%" and "100%" switch a threshold off. Other spellings of these values are
  // thresholds.
  test.each([
    ['0.0%', 0],
    ['-0%', 0],
    ['0.5%', 0.005],
    ['99.5%', 0.995],
    ['100.0%', 1],
  ])('parseThresholds treats %s as a threshold', (text, fraction) => {
    const values = parseThresholds({ evictionHard: { 'nodefs.available': text } }).map(({ value }) => value);
    expect(values.map((value) => ('fraction' in value ? value.fraction + 0 : value))).toEqual([Math.fround(fraction)]);
  });

  test.each([0, 0.5, 1, Number.MAX_VALUE])('parseThresholds accepts a grace period of %d ms', (periodMs) => {
    const soft = { evictionSoft: { 'pid.available': '5' }, evictionSoftGracePeriodMs: { 'pid.available': periodMs } };
    expect(parseThresholds(soft).map(({ gracePeriodMs }) => gracePeriodMs)).toEqual([periodMs]);
  });

  test('parseThresholds copies hard memory thresholds to allocatable memory if node allocatable is enforced for pods', () => {
    const settings = {
      evictionHard: { 'memory.available': '100Mi' },
      evictionSoft: { 'memory.available': '200Mi' },
      evictionSoftGracePeriodMs: { 'memory.available': 1000 },
    };
    expect(shown({ ...settings, enforcesAllocatable: true })).toEqual([
      'memory.available<100Mi',
      'memory.available<200Mi for 1s',
      'allocatableMemory.available<100Mi',
    ]);
  });

  const nonsense: readonly (readonly [ThresholdSettings, string])[] = [
    [{ evictionHard: { 'memory.free': '1' } }, 'evictionHard["memory.free"]: must be an eviction signal'],
    [{ evictionHard: { 'memory.available': 'lots' } }, 'evictionHard["memory.available"]: quantity "lots"'],
    [{ evictionHard: { 'memory.available': '0' } }, 'evictionHard["memory.available"]: "0" must be positive'],
    [{ evictionHard: { 'memory.available': '-1Gi' } }, 'evictionHard["memory.available"]: "-1Gi" must be positive'],
    [{ evictionHard: { 'nodefs.available': '-1%' } }, '"-1%" must be a percentage from 0% to 100%'],
    [{ evictionHard: { 'nodefs.available': '101%' } }, '"101%" must be a percentage from 0% to 100%'],
    [{ evictionHard: { 'nodefs.available': 'x%' } }, '"x%" must be a percentage from 0% to 100%'],
    [{ evictionHard: { 'nodefs.available': '%' } }, '"%" must be a percentage from 0% to 100%'],
    [{ evictionSoft: { 'pid.available': '5' } }, 'evictionSoft["pid.available"]: must have a grace period'],
    [{ evictionSoftGracePeriodMs: { 'pid.available': -1 } }, 'evictionSoftGracePeriodMs["pid.available"]: -1 ms'],
    [
      { evictionSoftGracePeriodMs: { 'pid.available': Number.POSITIVE_INFINITY } },
      'Infinity ms must be a grace period',
    ],
    [{ evictionSoftGracePeriodMs: { 'pid.available': Number.NaN } }, 'NaN ms must be a grace period'],
    [{ evictionSoftGracePeriodMs: { pids: 1 } }, 'evictionSoftGracePeriodMs["pids"]: must be an eviction signal'],
    [{ evictionMinimumReclaim: { 'nodefs.available': '0%' } }, 'evictionMinimumReclaim["nodefs.available"]: "0%"'],
    [{ evictionMinimumReclaim: { 'nodefs.available': '-1' } }, '"-1" must not be negative'],
    [
      { evictionMinimumReclaim: { 'nodefs.free': '1' } },
      'evictionMinimumReclaim["nodefs.free"]: must be an eviction signal',
    ],
    [{ evictionHard: { 'memory.available': 5 as never } }, 'evictionHard["memory.available"]: 5 must be a string'],
    [
      { evictionSoft: { 'memory.available': null as never } },
      'evictionSoft["memory.available"]: null must be a string',
    ],
    [{ evictionMinimumReclaim: { 'nodefs.available': 5 as never } }, 'evictionMinimumReclaim["nodefs.available"]: 5'],
    [{ evictionHard: null as never }, 'evictionHard: must be an object, not null'],
    [
      { evictionSoftGracePeriodMs: { 'pid.available': '5' as never } },
      'evictionSoftGracePeriodMs["pid.available"]: 5 ms',
    ],
  ];
  test.each(nonsense)('parseThresholds rejects %j and names the field', (settings, words) => {
    const parse = (): unknown => parseThresholds(settings);
    expect(parse).toThrow(words);
    expect(parse).toThrow(expect.toSatisfy((err) => EvictionError.is(err) && err.code === 'InvalidOptions'));
  });

  test("quantityOf computes a percentage of the capacity with upstream's 32-bit rounding", () => {
    const [threshold] = parseThresholds({ evictionHard: { 'nodefs.available': '10%' } });
    expect(String(quantityOf((threshold as Threshold).value, Quantity.of(1000)))).toBe('100');
    expect(String(quantityOf((threshold as Threshold).value, Quantity.of(1000 * MI)))).toBe('104857601');
  });
});

// The rows equal upstream's `signalToResource` and `signalToNodeCondition`.
test.each<[Signal, string, string]>([
  ['memory.available', 'memory', 'MemoryPressure'],
  ['allocatableMemory.available', 'memory', 'MemoryPressure'],
  ['nodefs.available', 'ephemeral-storage', 'DiskPressure'],
  ['nodefs.inodesFree', 'inodes', 'DiskPressure'],
  ['imagefs.available', 'ephemeral-storage', 'DiskPressure'],
  ['imagefs.inodesFree', 'inodes', 'DiskPressure'],
  ['containerfs.available', 'ephemeral-storage', 'DiskPressure'],
  ['containerfs.inodesFree', 'inodes', 'DiskPressure'],
  ['pid.available', 'pids', 'PIDPressure'],
])('signal %s belongs to resource %s and condition %s', (signal, resource, condition) => {
  expect([resourceOf(signal), conditionOf(signal)]).toEqual([resource, condition]);
});

describe('withContainerFs', () => {
  const thresholds = parseThresholds({
    evictionHard: { 'nodefs.available': '10%', 'imagefs.available': '15%', 'containerfs.available': '99%' },
    evictionSoft: { 'imagefs.inodesFree': '5%', 'nodefs.inodesFree': '6%' },
    evictionSoftGracePeriodMs: { 'imagefs.inodesFree': 1000, 'nodefs.inodesFree': 2000 },
  });
  const of = (layout: DiskLayout): string[] =>
    withContainerFs(thresholds, layout)
      .thresholds.map(formatThreshold)
      .filter((text) => text.startsWith('containerfs'));

  test.each([
    [ONE_DISK, ['containerfs.available<10%', 'containerfs.inodesFree<6% for 2s']],
    [SPLIT, ['containerfs.available<10%', 'containerfs.inodesFree<6% for 2s']],
    [IMAGES_APART, ['containerfs.available<15%', 'containerfs.inodesFree<5% for 1s']],
  ])('withContainerFs copies the thresholds of the disk that holds the writable layers: %j', (layout, expected) => {
    expect(of(layout)).toEqual(expected);
    expect(withContainerFs(thresholds, layout).overridden).toEqual(['containerfs.available']);
  });

  test('withContainerFs adds no threshold if the disk has none', () => {
    const memory = parseThresholds({ evictionHard: { 'memory.available': '1' } });
    expect(withContainerFs(memory, ONE_DISK)).toEqual({ thresholds: memory, overridden: [] });
  });
});

describe('diskPartsOf and reclaimsOf', () => {
  test.each<[Signal, DiskLayout, string, string]>([
    ['nodefs.available', ONE_DISK, 'images rootfs logs volumes', 'containers images'],
    ['imagefs.inodesFree', ONE_DISK, 'images rootfs logs volumes', 'containers images'],
    ['containerfs.available', ONE_DISK, 'images rootfs logs volumes', 'containers images'],
    ['nodefs.inodesFree', IMAGES_APART, 'logs volumes', ''],
    ['imagefs.available', IMAGES_APART, 'rootfs images', 'containers images'],
    ['containerfs.available', IMAGES_APART, 'rootfs images', 'containers images'],
    ['nodefs.available', SPLIT, 'logs volumes rootfs', 'containers'],
    ['imagefs.available', SPLIT, 'images', 'images'],
    ['containerfs.inodesFree', SPLIT, 'logs volumes rootfs', 'containers'],
  ])(
    'for signal %s and disk layout %j, pods are ranked by their %j, and a reclaim removes %j',
    (signal, layout, parts, reclaims) => {
      expect(diskPartsOf(signal, layout).join(' ')).toBe(parts);
      expect(reclaimsOf(signal, layout).join(' ')).toBe(reclaims);
    },
  );

  test.each<Signal>(['memory.available', 'allocatableMemory.available', 'pid.available'])(
    'no reclaim step exists for %s',
    (signal) => expect([ONE_DISK, IMAGES_APART, SPLIT].flatMap((layout) => reclaimsOf(signal, layout))).toEqual([]),
  );
});

describe('observe', () => {
  const time = '2026-01-01T00:00:05Z';
  const fs = (availableBytes: number): object => ({
    time,
    availableBytes,
    capacityBytes: 100,
    inodes: 10,
    inodesFree: 5,
  });
  const full: EvictionSummary = {
    pods: [],
    node: {
      memory: { time, availableBytes: 10, workingSetBytes: 90 },
      systemContainers: [{ name: 'pods', memory: { time, availableBytes: 20, workingSetBytes: 30 } }],
      fs: fs(1) as never,
      runtime: { imageFs: fs(2) as never, containerFs: fs(3) as never },
      rlimit: { time, maxpid: 1000, curproc: 400 },
    },
  };

  test('observe reads every signal', () => {
    const { observations, faults } = observe(full);
    const shown = [...observations].map(([signal, { available, capacity, atMs }]) => {
      expect(atMs).toBe(Date.UTC(2026, 0, 1, 0, 0, 5));
      return `${signal} ${available} of ${capacity}`;
    });
    expect(shown).toEqual([
      'memory.available 10 of 100',
      'allocatableMemory.available 20 of 50',
      'nodefs.available 1 of 100',
      'nodefs.inodesFree 5 of 10',
      'imagefs.available 2 of 100',
      'imagefs.inodesFree 5 of 10',
      'containerfs.available 3 of 100',
      'containerfs.inodesFree 5 of 10',
      'pid.available 600 of 1k',
    ]);
    expect(shown.length).toBe(SIGNALS.length);
    expect(faults).toEqual([]);
  });

  const lies: readonly (readonly [string, Signal, EvictionSummary['node']])[] = [
    ['a negative number', 'memory.available', { memory: { time, availableBytes: -1, workingSetBytes: 5 } }],
    ['NaN', 'memory.available', { memory: { time, availableBytes: Number.NaN, workingSetBytes: 5 } }],
    ['a negative working set', 'memory.available', { memory: { time, availableBytes: 9, workingSetBytes: -5 } }],
    ['a fraction of a byte', 'nodefs.available', { fs: { time, availableBytes: 0.5, capacityBytes: 5 } }],
    [
      'more available bytes than the capacity',
      'nodefs.available',
      { fs: { time, availableBytes: 6, capacityBytes: 5 } },
    ],
    ['more free inodes than inodes', 'nodefs.inodesFree', { fs: { time, inodesFree: 6, inodes: 5 } }],
    ['a negative number of processes', 'pid.available', { rlimit: { time, maxpid: 5, curproc: -1 } }],
  ];
  test.each(lies)('observe rejects %s', (_title, signal, node) => {
    const { observations, faults } = observe({ pods: [], node });
    expect(observations.size).toBe(0);
    expect(faults).toHaveLength(1);
    expect(faults[0]).toContain(signal);
  });

  test('observe reports no inode signal for a file system without an inode count', () => {
    expect(observe({ pods: [], node: { fs: { time, inodes: 0, inodesFree: 0 } } })).toEqual({
      observations: new Map(),
      faults: [],
    });
  });

  test('observe reports 0 free process IDs if more processes exist than the maximum', () => {
    const { observations } = observe({ pods: [], node: { rlimit: { time, maxpid: 5, curproc: 9 } } });
    expect(String(observations.get('pid.available')?.available)).toBe('0');
  });
});

describe('rankPods', () => {
  const names = (signal: Signal, pods: readonly Pod[], stats: readonly EvictionPodStats[], layout = ONE_DISK): string =>
    rankPods(signal, pods, (pod) => stats.find(({ podRef }) => podRef.uid === pod.metadata.uid), layout)
      .map(({ pod }) => pod.metadata.name)
      .join(' ');

  test('rankPods for memory orders by request exceeded, then lower priority, then usage above the request', () => {
    const within = makePod('within', { ...asking({ memory: '900Mi' }), priority: -5 });
    const high = makePod('high', { priority: 10 });
    const little = makePod('little', asking({ memory: '100Mi' }));
    const much = makePod('much');
    const unknown = makePod('unknown', { priority: 99 });
    const pods = [within, high, little, much, unknown];
    const stats = [
      usingMemory(within, 800 * MI),
      usingMemory(high, 700 * MI),
      usingMemory(little, 300 * MI),
      usingMemory(much, 250 * MI),
    ];
    expect(names('memory.available', pods, stats)).toBe('unknown much little high within');
    expect(names('allocatableMemory.available', pods, stats)).toBe('unknown much little high within');
  });

  test('rankPods adds the pod overhead to the request only if the pod has a request', () => {
    const asks = makePod('asks', { ...asking({ memory: '100Mi' }), overhead: { memory: '100Mi' } });
    const asksNothing = makePod('nothing', { overhead: { memory: '100Mi' } });
    const stats = [usingMemory(asks, 150 * MI), usingMemory(asksNothing, 50 * MI)];
    expect(names('memory.available', [asks, asksNothing], stats)).toBe('nothing asks');
  });

  test('rankPods for process IDs orders by lower priority, then more processes', () => {
    const [few, many, high] = [makePod('few'), makePod('many'), makePod('high', { priority: 1 })] as const;
    const stats = [
      podStats(few, { process_stats: { process_count: 3 } }),
      podStats(many, { process_stats: { process_count: 400 } }),
      podStats(high, { process_stats: { process_count: 5000 } }),
    ];
    expect(names('pid.available', [high, few, many], stats)).toBe('many few high');
  });

  const volumes = [
    { name: 'scratch', emptyDir: {} },
    { name: 'shm', emptyDir: { medium: 'Memory' } },
    { name: 'claim', persistentVolumeClaim: { claimName: 'x' } },
  ];
  const [logs, layer, volume] = [makePod('logs'), makePod('layer'), makePod('volume', { volumes })] as const;
  const stats = [
    podStats(logs, { containers: [{ name: 'main', rootfs: files(1, 1), logs: files(30 * MI, 2) }] }),
    podStats(layer, { containers: [{ name: 'main', rootfs: files(20 * MI, 9), logs: files(1, 1) }] }),
    podStats(volume, {
      containers: [{ name: 'main', rootfs: files(2, 1), logs: files(2, 1) }],
      volume: [
        { name: 'scratch', ...files(25 * MI, 5) },
        // Neither volume is on the node's disk.
        { name: 'shm', ...files(900 * MI, 900) },
        { name: 'claim', ...files(900 * MI, 900) },
      ],
    }),
  ];
  test.each<[Signal, DiskLayout, string]>([
    ['nodefs.available', ONE_DISK, 'logs volume layer'],
    ['nodefs.inodesFree', ONE_DISK, 'layer volume logs'],
    ['nodefs.available', IMAGES_APART, 'logs volume layer'],
    ['imagefs.available', IMAGES_APART, 'layer volume logs'],
    ['containerfs.available', SPLIT, 'logs volume layer'],
  ])('rankPods for %s orders by the pod data on that disk: %j', (signal, layout, expected) => {
    expect(names(signal, [layer, logs, volume], stats, layout)).toBe(expected);
  });

  test('rankPods does not subtract requested bytes from used inodes', () => {
    const asks = makePod('asks', asking({ 'ephemeral-storage': '10Gi' }));
    const plain = makePod('plain');
    const used = [
      podStats(asks, { containers: [{ name: 'main', rootfs: files(0, 500_000) }] }),
      podStats(plain, { containers: [{ name: 'main', rootfs: files(0, 10) }] }),
    ];
    expect(names('nodefs.inodesFree', [plain, asks], used)).toBe('asks plain');
  });

  test('rankPods puts the youngest pod first if nothing else distinguishes the pods', () => {
    const at = (name: string, creationTimestamp: string): Pod => makePod(name, {}, { creationTimestamp });
    const pods = [at('old', '2026-01-01T00:00:00Z'), at('young', '2026-01-02T00:00:00Z'), makePod('b'), makePod('a')];
    expect(names('memory.available', pods, [])).toBe('young old a b');
  });
});

describe('evictionMessage', () => {
  const [memory] = parseThresholds({ evictionHard: { 'memory.available': '100Mi' } }) as [Threshold];
  const observations = new Map([
    [
      'memory.available',
      { available: Quantity.of(95_000 * 1024, 'BinarySI'), capacity: Quantity.of(2 ** 30), atMs: 0 },
    ],
  ] as const);

  test('evictionMessage names the short resource and the containers above their requests', () => {
    const pod = makePod('pod', {
      containers: ['a', 'b'].map((name) => ({ name, image: 'x', resources: { requests: { memory: '10Mi' } } })),
      initContainers: [{ name: 'side', image: 'x' }],
    });
    const use = (name: string, bytes: number) => ({ name, memory: { time: null, workingSetBytes: bytes } });
    const stats = podStats(pod, {
      containers: [use('a', 11 * MI), use('b', 10 * MI), use('side', 999), use('gone', 5)],
    });
    expect(evictionMessage(pod, stats, memory, observations)).toEqual({
      message:
        'The node was low on resource: memory. Threshold quantity: 100Mi, available: 95000Ki. ' +
        'Container a was using 11Mi, request is 10Mi, has larger consumption of memory. ' +
        'Container side was using 999, request is 0, has larger consumption of memory. ',
      annotations: {
        offending_containers: 'a,side',
        offending_containers_usage: '11Mi,999',
        starved_resource: 'memory',
      },
    });
  });

  test('evictionMessage names the pod if it has a pod-level memory request', () => {
    const pod = makePod('pod', { resources: { requests: { memory: '64Mi' } } });
    const { message, annotations } = evictionMessage(pod, usingMemory(pod, 80 * MI), memory, observations);
    expect(message).toContain(
      'Pod pod was using 80Mi, request is 64Mi, has larger consumption of memory. Container main',
    );
    expect(annotations).toMatchObject({ offending_pod: 'pod', offending_pod_usage: '80Mi' });
  });

  test('evictionMessage describes only the node if the pod has no stats', () => {
    expect(evictionMessage(makePod('pod'), undefined, memory, observations)).toEqual({
      message: 'The node was low on resource: memory. Threshold quantity: 100Mi, available: 95000Ki. ',
      annotations: {},
    });
  });
});

describe('storageViolation', () => {
  const limited = (limit: string) => makePod('pod', asking({}, { 'ephemeral-storage': limit }));
  const sized = makePod('pod', { volumes: [{ name: 'v', emptyDir: { sizeLimit: '1Mi' } }] });
  const unlimited = makePod('pod', { volumes: [{ name: 'v', emptyDir: { sizeLimit: '0' } }] });
  const container = (rootfs: number, logs: number): Partial<EvictionPodStats> => ({
    containers: [{ name: 'main', rootfs: files(rootfs), logs: files(logs) }],
  });

  test.each<[string, Pod, Partial<EvictionPodStats>, string | undefined]>([
    ['an emptyDir exactly at its size limit', sized, { volume: [{ name: 'v', ...files(MI) }] }, undefined],
    [
      'an emptyDir above its size limit',
      sized,
      { volume: [{ name: 'v', ...files(MI + 1) }] },
      'Usage of EmptyDir volume "v" exceeds the limit "1Mi". ',
    ],
    ['an emptyDir with a negative usage', sized, { volume: [{ name: 'v', ...files(-5) }] }, undefined],
    ['an emptyDir without a size limit', unlimited, { volume: [{ name: 'v', ...files(99 * MI) }] }, undefined],
    [
      'a pod above the sum of its container limits',
      limited('1Mi'),
      { 'ephemeral-storage': files(MI + 1) },
      'Pod ephemeral local storage usage exceeds the total limit of containers 1Mi. ',
    ],
    [
      'a container above its limit',
      limited('1Mi'),
      container(MI, 1),
      'Container main exceeded its local ephemeral storage limit "1Mi". ',
    ],
    ['a container at its limit', limited('1Mi'), container(MI - 1, 1), undefined],
    ['a pod without limits', makePod('pod'), container(9 * MI, 9 * MI), undefined],
  ])('storageViolation of %s returns the message: $3', (_title, pod, stats, message) => {
    expect(storageViolation(pod, podStats(pod, stats))?.message).toBe(message);
  });

  test('W6, K5: storageViolation takes time linear in the number of volumes and containers', () => {
    const names = Array.from({ length: 2000 }, (_none, index) => `n${index}`);
    let looks = 0;
    const counted = <T extends object>(name: string, more: T): T & { readonly name: string } =>
      Object.defineProperty({ ...more, name }, 'name', {
        get() {
          looks += 1;
          return name;
        },
      });
    const made = makePod('pod');
    const volumes = names.map((name) => ({ name, emptyDir: { sizeLimit: '1Mi' } }));
    const resources = { limits: { 'ephemeral-storage': '1Mi' } };
    const containers = names.map((name) => counted(name, { image: 'x', resources }));
    const pod: Pod = { ...made, spec: { ...made.spec, volumes, containers } };
    const stats = podStats(pod, {
      volume: names.map((name) => counted(name, files(MI))),
      containers: names.map((name) => ({ name, rootfs: files(MI), logs: files(0) })),
    });
    expect(storageViolation(pod, stats)).toBeUndefined();
    expect(looks).toBeLessThan(10 * names.length);
    const { message } = evictionMessage(
      pod,
      stats,
      parseThresholds({ evictionHard: { 'nodefs.available': '1Mi' } })[0] as Threshold,
      new Map(),
    );
    expect(message.split('Container ')).toHaveLength(names.length + 1);
    expect(looks).toBeLessThan(20 * names.length);
  });
});

describe('admitUnderPressure', () => {
  const tolerating = (...tolerations: object[]) => makePod('pod', { tolerations } as Partial<Pod['spec']>);
  const key = 'node.kubernetes.io/memory-pressure';
  const burstable = makePod('pod', asking({ cpu: '1' }));

  test.each<[string, Pod, Parameters<typeof admitUnderPressure>[1], boolean]>([
    ['a BestEffort pod without node pressure', makePod('pod'), [], true],
    ['a BestEffort pod under memory pressure', makePod('pod'), ['MemoryPressure'], false],
    ['a Burstable pod under memory pressure', burstable, ['MemoryPressure'], true],
    ['a Burstable pod under memory and disk pressure', burstable, ['MemoryPressure', 'DiskPressure'], false],
    ['a Burstable pod under disk pressure', burstable, ['DiskPressure'], false],
    ['a Burstable pod under PID pressure', burstable, ['PIDPressure'], false],
    ['a critical pod under disk pressure', makePod('pod', { priority: 2e9 }), ['DiskPressure'], true],
    [
      'a BestEffort pod that tolerates the taint, under memory pressure',
      tolerating({ key, operator: 'Exists', effect: 'NoSchedule' }),
      ['MemoryPressure'],
      true,
    ],
    [
      'a BestEffort pod that tolerates everything, under memory pressure',
      tolerating({ operator: 'Exists' }),
      ['MemoryPressure'],
      true,
    ],
    [
      'a BestEffort pod that tolerates the taint with an empty value, under memory pressure',
      tolerating({ key }),
      ['MemoryPressure'],
      true,
    ],
    [
      'a BestEffort pod that tolerates another value of the taint, under memory pressure',
      tolerating({ key, value: 'x' }),
      ['MemoryPressure'],
      false,
    ],
    [
      'a BestEffort pod that tolerates another effect of the taint, under memory pressure',
      tolerating({ key, operator: 'Exists', effect: 'NoExecute' }),
      ['MemoryPressure'],
      false,
    ],
    [
      'a BestEffort pod that tolerates another taint, under memory pressure',
      tolerating({ key: 'other', operator: 'Exists' }),
      ['MemoryPressure'],
      false,
    ],
    [
      'a BestEffort pod that tolerates the taint with the operator Lt, under memory pressure',
      tolerating({ key, operator: 'Lt', value: '5' }),
      ['MemoryPressure'],
      false,
    ],
    [
      'a BestEffort pod that tolerates everything, under disk pressure',
      tolerating({ operator: 'Exists' }),
      ['DiskPressure'],
      false,
    ],
  ])('admitUnderPressure admits %s: $3', (_title, pod, conditions, admit) => {
    const verdict = admitUnderPressure(pod, conditions);
    expect(verdict.admit).toBe(admit);
    if (!verdict.admit) {
      expect(verdict.reason).toBe('Evicted');
      expect(verdict.message).toBe(`The node had condition: [${conditions.join(' ')}]. `);
    }
  });
});
