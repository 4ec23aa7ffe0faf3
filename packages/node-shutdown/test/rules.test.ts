import type { PodStatus } from '@node-agent/pod-spec';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  gracePeriodSeconds,
  gracePeriodsOf,
  groupByPriority,
  migrateSettings,
  type PriorityGracePeriod,
  periodRequestedMs,
  terminatedStatus,
} from '../src/index.ts';
import { podOf } from './pods.ts';

const CRITICAL = 2_000_000_000;
const HIGHEST_USER_DEFINABLE = 1_000_000_000;

function period(priority: number, shutdownGracePeriodSeconds: number): PriorityGracePeriod {
  return { priority, shutdownGracePeriodSeconds };
}

describe('shutdownGracePeriod is for all pods, and its last part for critical pods', () => {
  test.each([
    [300_000, 120_000, [period(0, 180), period(CRITICAL, 120)]],
    [100_000, 0, [period(0, 100), period(CRITICAL, 0)]],
    [10_000, 10_000, [period(0, 0), period(CRITICAL, 10)]],
    [10_900, 1_500, [period(0, 9), period(CRITICAL, 1)]],
    [0, 0, []],
    [1_000, 100_000, []],
    [1_000, -1, []],
  ])('a total grace period of %d ms with %d ms for critical pods gives the periods %j', (totalMs, criticalMs, want) => {
    expect(migrateSettings(totalMs, criticalMs)).toEqual(want);
  });
});

describe('shutdown periods from the configuration', () => {
  const plain = { shutdownGracePeriodMs: 30_000, shutdownGracePeriodCriticalPodsMs: 10_000 };
  const list = [period(100, 4), period(-5, 6), period(7, 1)];

  test('a configured priority list is sorted by priority, and replaces the two single periods', () => {
    const settings = { ...plain, shutdownGracePeriodByPodPriority: list, byPodPriority: true };
    expect(gracePeriodsOf(settings)).toEqual([period(-5, 6), period(7, 1), period(100, 4)]);
    expect(list[0]).toEqual(period(100, 4));
    const one = [period(100, 4)];
    expect(gracePeriodsOf({ ...settings, shutdownGracePeriodByPodPriority: one })).toEqual(one);
  });

  test('the two single periods are used without a list, or if its feature gate is off', () => {
    const want = [period(0, 20), period(CRITICAL, 10)];
    expect(gracePeriodsOf({ ...plain, shutdownGracePeriodByPodPriority: [], byPodPriority: true })).toEqual(want);
    expect(gracePeriodsOf({ ...plain, shutdownGracePeriodByPodPriority: list, byPodPriority: false })).toEqual(want);
  });

  test("the shutdown delay is the sum of all groups' periods", () => {
    expect(periodRequestedMs(list)).toBe(11_000);
    expect(periodRequestedMs([])).toBe(0);
  });
});

describe('groups of pods that terminate together', () => {
  const names = (periods: readonly PriorityGracePeriod[], pods: Parameters<typeof groupByPriority>[1]) =>
    groupByPriority(periods, pods).map(({ priority, shutdownGracePeriodSeconds, pods: own }) => [
      priority,
      shutdownGracePeriodSeconds,
      own.map(({ metadata }) => metadata.name),
    ]);

  test('critical pods terminate after all other pods', () => {
    const pods = [podOf('normal', 0), podOf('highest', HIGHEST_USER_DEFINABLE), podOf('critical', CRITICAL)];
    expect(names(migrateSettings(300_000, 120_000), pods)).toEqual([
      [0, 180, ['normal', 'highest']],
      [CRITICAL, 120, ['critical']],
    ]);
  });

  test('a pod uses the highest period at or below its priority, and the lowest period if there is none', () => {
    const pods = [0, 1, 2, 3, 4, 5].map((priority) => podOf(`pod-${priority}`, priority));
    expect(names([period(1, 10), period(2, 20), period(3, 30), period(4, 40)], pods)).toEqual([
      [1, 10, ['pod-0', 'pod-1']],
      [2, 20, ['pod-2']],
      [3, 30, ['pod-3']],
      [4, 40, ['pod-4', 'pod-5']],
    ]);
  });

  test('a pod without a priority has priority 0; groups without pods are kept', () => {
    expect(names([period(-1, 1), period(0, 2), period(1, 3)], [podOf('none')])).toEqual([
      [-1, 1, []],
      [0, 2, ['none']],
      [1, 3, []],
    ]);
  });

  test('if two periods have one priority, then the first gets the pods of that priority and the last the pods above it', () => {
    expect(names([period(1, 10), period(1, 20), period(9, 5)], [podOf('at', 1), podOf('above', 2)])).toEqual([
      [1, 10, ['at']],
      [1, 20, ['above']],
      [9, 5, []],
    ]);
  });

  test('every pod is in one group, in its original order; groups are sorted by priority', () => {
    const priorities = fc.integer({ min: -20, max: 20 });
    const distinct = fc.uniqueArray(priorities, { minLength: 1, maxLength: 8 });
    fc.assert(
      fc.property(distinct, fc.array(priorities, { maxLength: 12 }), (levels, wanted) => {
        const periods = levels.toSorted((a, b) => a - b).map((priority) => period(priority, 1));
        const pods = wanted.map((priority, index) => podOf(`${index}`, priority));
        const groups = groupByPriority(periods, pods);
        expect(groups.flatMap((group) => group.pods)).toHaveLength(pods.length);
        for (const { priority, pods: own } of groups) {
          for (const pod of own) {
            const reached = periods.filter((one) => one.priority <= (pod.spec.priority ?? 0)).at(-1) ?? periods[0];
            expect(priority).toBe(reached?.priority);
          }
          expect(own).toEqual(pods.filter((pod) => own.includes(pod)));
        }
      }),
    );
  });
});

describe('the grace period of a pod', () => {
  test.each([
    [undefined, 20, 20],
    [5, 20, 5],
    [20, 20, 20],
    [120, 20, 20],
    [0, 20, 0],
    [30, 0, 0],
  ])('a pod that requests %s s in a group of %d s gets %d s', (own, group, want) => {
    expect(gracePeriodSeconds(podOf('a', 0, own), period(0, group))).toBe(want);
  });
});

describe('the status of a pod that the shutdown terminates', () => {
  const message = 'Pod was terminated in response to imminent node shutdown.';
  const condition = {
    ...{ type: 'DisruptionTarget', status: 'True', reason: 'TerminationByKubelet', message },
    observedGeneration: 3,
  };

  test.each(['Running', 'Pending', 'Failed'] as const)('the phase becomes Failed if the pod was %s', (phase) => {
    expect(terminatedStatus(podOf('a'))({ phase } as PodStatus)).toEqual({
      ...{ phase: 'Failed', reason: 'Terminated', message },
      conditions: [condition],
    });
  });

  test('a pod that had succeeded does not become Failed', () => {
    const status = terminatedStatus(podOf('a'))({ phase: 'Succeeded' } as PodStatus);
    expect(status).toMatchObject({ phase: 'Succeeded', reason: 'Terminated', message });
  });

  test('other status fields are kept, and an existing condition keeps its transition time', () => {
    const ready = { type: 'Ready', status: 'False' as const };
    const before = { type: 'DisruptionTarget', status: 'True' as const, lastTransitionTime: '2026-01-01T00:00:00Z' };
    const status = { phase: 'Running', hostIP: '10.0.0.1', conditions: [before, ready] } as PodStatus;
    expect(terminatedStatus(podOf('a'))(status)).toMatchObject({
      hostIP: '10.0.0.1',
      conditions: [{ ...condition, lastTransitionTime: '2026-01-01T00:00:00Z' }, ready],
    });
    const other = { ...status, conditions: [{ ...before, status: 'False' as const }] } as PodStatus;
    expect(terminatedStatus(podOf('a'))(other).conditions).toEqual([condition]);
  });
});
