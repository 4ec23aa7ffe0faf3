import { Quantity } from '@node-agent/pod-spec';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  isMet,
  NO_PRESSURE,
  nextPressure,
  type Observations,
  type PressureState,
  rankPods,
  SIGNALS,
  type Signal,
  type Threshold,
} from '../src/index.ts';
import { asking, files, makePod, ONE_DISK, podStats } from './world.ts';

const podFacts = fc.record({
  priority: fc.integer({ min: -2, max: 2 }),
  request: fc.integer({ min: 0, max: 50 }),
  used: fc.option(fc.integer({ min: 0, max: 100 }), { nil: undefined }),
});

describe('rankPods properties', () => {
  const signals = fc.constantFrom(...SIGNALS);

  test('rankPods is a total order that does not depend on the order of the pod list', () => {
    fc.assert(
      fc.property(fc.array(podFacts, { maxLength: 8 }), signals, fc.integer(), (facts, signal, turn) => {
        const pods = facts.map(({ priority, request }, index) =>
          makePod(`p${index}`, {
            ...asking({ memory: String(request), 'ephemeral-storage': String(request) }),
            priority,
          }),
        );
        const stats = new Map(
          pods.flatMap((pod, index) => {
            const used = facts[index]?.used;
            if (used === undefined) return [];
            const figures = podStats(pod, {
              memory: { time: null, workingSetBytes: used },
              containers: [{ name: 'main', rootfs: files(used, used) }],
              process_stats: { process_count: used },
            });
            return [[pod.metadata.uid, figures] as const];
          }),
        );
        const names = (listed: typeof pods): string[] =>
          rankPods(signal, listed, ({ metadata }) => stats.get(metadata.uid), ONE_DISK).map(
            ({ pod }) => pod.metadata.name,
          );
        const at = pods.length === 0 ? 0 : Math.abs(turn) % pods.length;
        const ranked = names(pods);
        expect(names([...pods.slice(at), ...pods.slice(0, at)].reverse())).toEqual(ranked);
        expect([...ranked].sort()).toEqual(pods.map(({ metadata }) => metadata.name).sort());
      }),
    );
  });

  test('rankPods never places a pod within its request before a pod that exceeds its request', () => {
    fc.assert(
      fc.property(fc.array(podFacts, { maxLength: 8 }), (facts) => {
        const pods = facts.map(({ priority, request }, index) =>
          makePod(`p${index}`, { ...asking({ memory: String(request) }), priority }),
        );
        const statsOf = (pod: (typeof pods)[number]) => {
          const used = facts[pods.indexOf(pod)]?.used;
          return used === undefined ? undefined : podStats(pod, { memory: { time: null, workingSetBytes: used } });
        };
        const order = rankPods('memory.available', pods, statsOf, ONE_DISK).map(
          ({ hasStats, exceedsRequest }) => (hasStats ? 1 : 0) + (hasStats && !exceedsRequest ? 1 : 0),
        );
        expect(order).toEqual([...order].sort());
      }),
    );
  });
});

describe('nextPressure properties', () => {
  const signals: readonly Signal[] = ['memory.available', 'nodefs.available', 'pid.available'];
  const threshold: fc.Arbitrary<Threshold> = fc.record({
    signal: fc.constantFrom(...signals),
    value: fc.oneof(
      fc.integer({ min: 1, max: 100 }).map((count) => ({ quantity: Quantity.of(count) })),
      fc.integer({ min: 1, max: 99 }).map((percent) => ({ fraction: percent / 100 })),
    ),
    gracePeriodMs: fc.constantFrom(0, 0, 500, 3000),
    minReclaim: fc.integer({ min: 0, max: 40 }).map((count) => ({ quantity: Quantity.of(count) })),
  });
  const look = fc.record({
    stepMs: fc.integer({ min: 1, max: 2000 }),
    left: fc.array(fc.option(fc.integer({ min: 0, max: 100 }), { nil: undefined }), { minLength: 3, maxLength: 3 }),
    /** The age of the stats. If the age equals the step, the stats are the same as before. */
    ageMs: fc.integer({ min: 0, max: 3000 }),
  });
  const TRANSITION_MS = 4000;

  interface Seen {
    readonly nowMs: number;
    readonly observations: Observations;
    readonly before: PressureState;
    readonly step: ReturnType<typeof nextPressure>;
  }

  const run = (
    thresholds: readonly Threshold[],
    looks: readonly (typeof look extends fc.Arbitrary<infer T> ? T : never)[],
  ): readonly Seen[] => {
    let state = NO_PRESSURE;
    let nowMs = 0;
    return looks.map(({ stepMs, left, ageMs }) => {
      nowMs += stepMs;
      const observations: Observations = new Map(
        left.flatMap((count, index) => {
          const signal = signals[index] as Signal;
          if (count === undefined) return [];
          const figures = { available: Quantity.of(count), capacity: Quantity.of(100), atMs: nowMs - ageMs };
          return [[signal, figures] as const];
        }),
      );
      const before = state;
      const step = nextPressure(before, {
        ...{ thresholds, observations, nowMs },
        ...{ staleUntilMs: -10_000, transitionMs: TRANSITION_MS },
      });
      state = step.state;
      return { nowMs, observations, before, step };
    });
  };

  const inputs = [fc.array(threshold, { maxLength: 4 }), fc.array(look, { maxLength: 25 })] as const;

  test('N2: nextPressure never acts twice on the same stats and never without stats', () => {
    fc.assert(
      fc.property(...inputs, (thresholds, looks) => {
        for (const { observations, before, step } of run(thresholds, looks)) {
          for (const { signal } of step.actionable) {
            const atMs = observations.get(signal)?.atMs;
            expect(atMs).toBeDefined();
            expect(atMs).toBeGreaterThan(before.lastObservedAt.get(signal) ?? Number.NEGATIVE_INFINITY);
          }
        }
      }),
    );
  });

  test('nextPressure acts only on thresholds that are met or whose minimum reclaim is not reached', () => {
    fc.assert(
      fc.property(...inputs, (thresholds, looks) => {
        for (const { observations, before, step } of run(thresholds, looks)) {
          for (const one of step.actionable) {
            const observed = observations.get(one.signal);
            if (observed === undefined) throw new Error('no figures');
            const isUnresolved = before.pressing.includes(one) && isMet(one, observed, true);
            expect(isMet(one, observed, false) || isUnresolved).toBe(true);
          }
        }
      }),
    );
  });

  test('nextPressure acts on a soft threshold only if it was met in every round of its grace period', () => {
    fc.assert(
      fc.property(...inputs, (thresholds, looks) => {
        const all = run(thresholds, looks);
        for (const [index, { nowMs, step }] of all.entries()) {
          for (const one of step.state.pressing) {
            const during = all.slice(0, index + 1).filter((seen) => seen.nowMs > nowMs - one.gracePeriodMs);
            expect(during.every((seen) => seen.step.state.firstMetAt.has(one))).toBe(true);
          }
        }
      }),
    );
  });

  test('N3: nextPressure keeps a condition exactly until one transition period after its last met threshold', () => {
    fc.assert(
      fc.property(...inputs, (thresholds, looks) => {
        const conditions = {
          'memory.available': 'MemoryPressure',
          'nodefs.available': 'DiskPressure',
          'pid.available': 'PIDPressure',
        };
        const lastMetMs = new Map<string, number>();
        for (const { nowMs, step } of run(thresholds, looks)) {
          for (const { signal } of step.state.firstMetAt.keys()) {
            lastMetMs.set(conditions[signal as keyof typeof conditions], nowMs);
          }
          for (const condition of Object.values(conditions)) {
            const atMs = lastMetMs.get(condition);
            const expected = atMs !== undefined && nowMs - atMs < TRANSITION_MS;
            expect(step.conditions.includes(condition as never)).toBe(expected);
          }
        }
      }),
    );
  });

  test('nextPressure lists the actionable thresholds of memory before all others', () => {
    fc.assert(
      fc.property(...inputs, (thresholds, looks) => {
        for (const { step } of run(thresholds, looks)) {
          const memory = step.actionable.map(({ signal }) => signal === 'memory.available');
          expect(memory.lastIndexOf(true)).toBe(memory.filter(Boolean).length - 1);
        }
      }),
    );
  });
});
