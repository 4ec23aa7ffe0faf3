import { type Pod, Quantity } from '@node-agent/pod-spec';
import { describe, expect, test } from 'vitest';
import { evictedStatus } from '../src/evicted-status.ts';
import { gracePeriodSeconds } from '../src/grace-period.ts';
import {
  formatThreshold,
  isMet,
  NO_PRESSURE,
  nextPressure,
  type Observations,
  type PressureState,
  parseThresholds,
  quantityOf,
  type RankedPod,
  rankPods,
  type Signal,
  withContainerFs,
} from '../src/index.ts';
import { checkValues, withOptionDefaults } from '../src/options.ts';
import { conditionsIn, withNewerObservations } from '../src/pressure.ts';
import { asking, makePod, ONE_DISK, podStats, usingMemory } from './world.ts';

const [hard, soft] = parseThresholds({
  evictionHard: { 'memory.available': '100' },
  evictionSoft: { 'memory.available': '200' },
  evictionSoftGracePeriodMs: { 'memory.available': 1000 },
  evictionMinimumReclaim: { 'memory.available': '50' },
}) as [ReturnType<typeof parseThresholds>[number], ReturnType<typeof parseThresholds>[number]];

const leaving = (left: number, atMs: number | undefined): Observations =>
  new Map([['memory.available', { available: Quantity.of(left), capacity: Quantity.of(1000), atMs }]]);

describe('rankPods', () => {
  const ranked = (signal: Signal, ...uses: (readonly [Pod, ReturnType<typeof podStats> | undefined])[]): string => {
    const stats = new Map(uses);
    return rankPods(signal, [...stats.keys()], (pod) => stats.get(pod), ONE_DISK)
      .map(({ pod }) => pod.metadata.name)
      .join(' ');
  };
  const processes = (pod: Pod, count?: number) =>
    podStats(pod, count === undefined ? {} : { process_stats: { process_count: count } });

  test('rankPods for process IDs orders by priority even if a pod has no stats', () => {
    const [low, high, other] = [makePod('low'), makePod('high', { priority: 5 }), makePod('other')];
    expect(ranked('pid.available', [high, undefined], [low, processes(low, 0)])).toBe('low high');
    expect(ranked('pid.available', [low, processes(low, 9)], [other, undefined])).toBe('other low');
    // A larger number of processes does not outweigh a higher priority.
    expect(ranked('pid.available', [high, processes(high, 9)], [low, processes(low, 0)])).toBe('low high');
  });

  test('rankPods counts a pod that uses exactly its request as within its request', () => {
    const exact = makePod('exact', { ...asking({ memory: '100' }), priority: -1 });
    const over = makePod('over', { ...asking({ memory: '100' }), priority: 1 });
    expect(ranked('memory.available', [exact, usingMemory(exact, 100)], [over, usingMemory(over, 101)])).toBe(
      'over exact',
    );
  });

  test('rankPods counts missing stats as a usage of 0', () => {
    const [pod] = [makePod('pod')];
    for (const signal of ['memory.available', 'nodefs.available', 'nodefs.inodesFree', 'pid.available'] as const) {
      const [fact] = rankPods(signal, [pod], () => podStats(pod), ONE_DISK) as [RankedPod];
      expect(`${signal} ${fact.usage} ${fact.hasStats} ${fact.exceedsRequest}`).toBe(`${signal} 0 true false`);
    }
  });

  test('rankPods treats a pod without a creation time as older than every pod that has one', () => {
    const dated = makePod('dated', {}, { creationTimestamp: '1970-01-01T00:00:00.001Z', uid: 'z' });
    const undated = makePod('undated', {}, { uid: 'a' });
    expect(ranked('memory.available', [undated, undefined], [dated, undefined])).toBe('dated undated');
  });
});

describe('eviction thresholds', () => {
  const of = (left: number) => ({ available: Quantity.of(left), capacity: Quantity.of(1000) });

  test.each([
    [99, true, true],
    [100, false, true],
    [149, false, true],
    [150, false, false],
  ])(
    'with %d available, a threshold of 100 is met: %s, and with a minimum reclaim of 50 it is met: %s',
    (left, met, withReclaim) => {
      expect([isMet(hard, of(left), false), isMet(hard, of(left), true)]).toEqual([met, withReclaim]);
    },
  );

  test('a threshold that is a share of the capacity is printed with a binary suffix, and a percentage as it was configured', () => {
    expect(String(quantityOf({ fraction: 0.5 }, Quantity.of(4 * 2 ** 30)))).toBe('2Gi');
    const [threshold] = parseThresholds({ evictionHard: { 'nodefs.available': '64.006%' } });
    expect(threshold && formatThreshold(threshold)).toBe('nodefs.available<64.006%');
    expect(formatThreshold({ ...soft, gracePeriodMs: 1 })).toBe('memory.available<200 for 0.001s');
  });

  test('withContainerFs keeps hard thresholds before soft thresholds', () => {
    const thresholds = parseThresholds({
      evictionHard: { 'nodefs.available': '1' },
      evictionSoft: { 'nodefs.available': '2' },
      evictionSoftGracePeriodMs: { 'nodefs.available': 1000 },
    });
    expect(withContainerFs(thresholds, ONE_DISK).thresholds.map(formatThreshold)).toEqual([
      'nodefs.available<1',
      'containerfs.available<1',
      'nodefs.available<2 for 1s',
      'containerfs.available<2 for 1s',
    ]);
  });
});

describe('nextPressure and withNewerObservations', () => {
  const look = (state: PressureState, observations: Observations, nowMs = 0, staleUntilMs = 0, thresholds = [hard]) =>
    nextPressure(state, { thresholds, observations, nowMs, staleUntilMs, transitionMs: 1000 });
  const lookSoftly = (state: PressureState, observations: Observations, nowMs: number) =>
    look(state, observations, nowMs, 0, [soft]);

  test('a threshold is actionable at the first stats that are newer than the last action', () => {
    expect(look(NO_PRESSURE, leaving(10, 5), 0, 4).actionable).toEqual([hard]);
    expect(look(NO_PRESSURE, leaving(10, 5), 0, 5).actionable).toEqual([]);
    const { state } = look(NO_PRESSURE, leaving(10, 5));
    expect(look(state, leaving(10, 9), 1, 9).actionable).toEqual([]);
    expect(look(state, leaving(10, 10), 1, 9).actionable).toEqual([hard]);
  });

  test('N2: stats count as new for a threshold that did not exist when the stats were first seen', () => {
    const { state } = look(NO_PRESSURE, leaving(10, 5), 0, 0, []);
    expect(look(state, leaving(10, 5), 1).actionable).toEqual([hard]);
  });

  test('N2: stats without a time do not make the stats before them count as new again', () => {
    const first = look(NO_PRESSURE, leaving(10, 5));
    const timeless = look(first.state, leaving(10, undefined), 1);
    expect(timeless.actionable).toEqual([]);
    expect(look(timeless.state, leaving(10, 5), 2).actionable).toEqual([]);
    expect(look(timeless.state, leaving(10, 6), 2).actionable).toEqual([hard]);
  });

  test('N3: a condition ends exactly when the transition period has passed', () => {
    const { state } = look(NO_PRESSURE, leaving(10, 1));
    expect(look(state, leaving(900, 2), 999).conditions).toEqual(['MemoryPressure']);
    expect(look(state, leaving(900, 2), 1000).conditions).toEqual([]);
  });

  test('N3: stats between two rounds prolong a condition only if they meet a threshold', () => {
    const { state } = look(NO_PRESSURE, leaving(10, 1));
    const seen = (left: number) =>
      withNewerObservations(state, { thresholds: [hard], observations: leaving(left, 2), nowMs: 500 });
    expect(look(seen(900), leaving(900, 3), 1100).conditions).toEqual([]);
    expect(look(seen(10), leaving(900, 3), 1100).conditions).toEqual(['MemoryPressure']);
  });

  test('N3: a condition starts with stats between two rounds if they meet a threshold', () => {
    const { state } = look(NO_PRESSURE, leaving(900, 1));
    const seen = (left: number) =>
      conditionsIn(withNewerObservations(state, { thresholds: [hard], observations: leaving(left, 2), nowMs: 500 }));
    expect(seen(900)).toEqual([]);
    expect(seen(10)).toEqual(['MemoryPressure']);
  });

  test('N2: the soft grace period starts again if stats between two rounds no longer meet the threshold', () => {
    const { state } = lookSoftly(NO_PRESSURE, leaving(150, 1), 0);
    const actionable = (left: number) => {
      const seen = withNewerObservations(state, { thresholds: [soft], observations: leaving(left, 2), nowMs: 10 });
      return lookSoftly(seen, leaving(150, 3), 1000).actionable;
    };
    expect(actionable(150)).toEqual([soft]);
    expect(actionable(900)).toEqual([]);
  });

  test('N2: the soft grace period starts with stats between two rounds if these stats are the first that meet the threshold', () => {
    const { state } = lookSoftly(NO_PRESSURE, leaving(900, 1), 0);
    const seen = withNewerObservations(state, { thresholds: [soft], observations: leaving(150, 2), nowMs: 10 });
    expect(lookSoftly(seen, leaving(150, 3), 1009).actionable).toEqual([]);
    expect(lookSoftly(seen, leaving(150, 3), 1010).actionable).toEqual([soft]);
  });

  test('N2: stats between two rounds without a value for a signal neither end nor prolong its pressure', () => {
    const { state } = lookSoftly(NO_PRESSURE, leaving(150, 1), 0);
    const seen = withNewerObservations(state, { thresholds: [soft], observations: new Map(), nowMs: 10 });
    expect(lookSoftly(seen, leaving(150, 3), 1000).actionable).toEqual([soft]);
    expect(lookSoftly(seen, leaving(900, 3), 1000).conditions).toEqual([]);
    expect(withNewerObservations(NO_PRESSURE, { thresholds: [soft], observations: new Map(), nowMs: 10 })).toEqual(
      NO_PRESSURE,
    );
  });

  test('N2: a soft threshold whose grace period has passed stays actionable until the minimum reclaim is reached', () => {
    const { state } = lookSoftly(lookSoftly(NO_PRESSURE, leaving(150, 1), 0).state, leaving(150, 2), 1000);
    const actionable = (left: number) => {
      const seen = withNewerObservations(state, { thresholds: [soft], observations: leaving(left, 3), nowMs: 1010 });
      return lookSoftly(seen, leaving(220, 4), 1020).actionable;
    };
    expect(actionable(220)).toEqual([soft]);
    expect(actionable(900)).toEqual([]);
  });

  test('N2: a threshold no longer requires the minimum reclaim after stats between two rounds showed that it was reached', () => {
    const { state } = look(NO_PRESSURE, leaving(10, 1));
    const actionable = (left: number) => {
      const seen = withNewerObservations(state, { thresholds: [hard], observations: leaving(left, 2), nowMs: 1 });
      return look(seen, leaving(120, 3), 2).actionable;
    };
    expect(actionable(149)).toEqual([hard]);
    expect(actionable(150)).toEqual([]);
  });
});

describe('gracePeriodSeconds', () => {
  test.each([
    ['one second for a hard threshold', hard, 60, 30, 1],
    ["the pod's own grace period for a soft threshold", soft, 60, 30, 30],
    ['at most the maximum for a soft threshold', soft, 10, 30, 10],
    ['the maximum if the pod has no grace period', soft, 10, undefined, 10],
    ['one second if the maximum is 0', soft, 0, 30, 1],
    ["the pod's own grace period if the maximum is negative", soft, -1, 300, 300],
    ['one second if the pod has no grace period and the maximum is negative', soft, -1, undefined, 1],
  ])('gracePeriodSeconds of an evicted pod is $4: %s', (_title, threshold, maxPodGracePeriodSeconds, own, expected) => {
    const spec = { containers: [], ...(own !== undefined && { terminationGracePeriodSeconds: own }) };
    expect(gracePeriodSeconds({ spec }, threshold, { maxPodGracePeriodSeconds })).toBe(expected);
  });
});

describe('evictedStatus', () => {
  const target = { type: 'DisruptionTarget', status: 'True', reason: 'TerminationByKubelet', message: 'why' };
  const ready = { type: 'Ready', status: 'False' } as const;
  const conditionsAfter = (...conditions: object[]): unknown =>
    evictedStatus(makePod('pod'), 'why', true)({ conditions } as never).conditions;

  test('evictedStatus adds a DisruptionTarget condition of the evicted generation to the existing conditions', () => {
    const pod = makePod('pod', {}, { generation: 3 });
    expect(evictedStatus(pod, 'why', true)({ phase: 'Running', conditions: [ready] })).toStrictEqual({
      phase: 'Failed',
      reason: 'Evicted',
      message: 'why',
      conditions: [ready, { ...target, observedGeneration: 3 }],
    });
    expect(conditionsAfter(ready)).toStrictEqual([ready, target]);
    expect(evictedStatus(pod, 'why', true)({}).conditions).toHaveLength(1);
    expect(evictedStatus(pod, 'why', false)({ conditions: [ready] }).conditions).toEqual([ready]);
  });

  test('evictedStatus replaces an earlier DisruptionTarget condition and keeps its transition time', () => {
    const before = { ...target, reason: 'PreemptionByScheduler', message: 'other' };
    const lastTransitionTime = '2026-01-01T00:00:00Z';
    const after = (more: object): unknown => conditionsAfter({ ...before, ...more }, ready);
    expect(after({ lastTransitionTime })).toStrictEqual([{ ...target, lastTransitionTime }, ready]);
    expect(after({ lastTransitionTime, status: 'False' })).toStrictEqual([target, ready]);
    expect(after({ lastTransitionTime: null })).toStrictEqual([target, ready]);
    expect(after({})).toStrictEqual([target, ready]);
  });
});

describe('eviction options', () => {
  const options = withOptionDefaults({ nodeRef: { kind: 'Node', name: 'n', uid: 'n' }, thresholds: [] });

  test("eviction options default to upstream's defaults", () => {
    expect(options).toMatchObject({
      maxPodGracePeriodSeconds: 0,
      pressureTransitionMs: 5 * 60_000,
      localStorageCapacityIsolation: true,
      monitoringPeriodMs: 10_000,
      statsTimeoutMs: 30_000,
      reclaimTimeoutMs: 2 * 60_000,
      podCleanupTimeoutMs: 30_000,
    });
    expect(() => checkValues(options)).not.toThrow();
    expect(() => checkValues({ ...options, pressureTransitionMs: 0 })).not.toThrow();
  });

  test('rejects NaN as an eviction option with an error that names the option', () => {
    const check = (): void => checkValues({ ...options, maxPodGracePeriodSeconds: Number.NaN });
    expect(check).toThrow('maxPodGracePeriodSeconds must be a number');
  });
});
