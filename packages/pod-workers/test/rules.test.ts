import { seededRandom } from '@node-agent/async';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fullNameClaim } from '../src/full-name-claim.ts';
import { FullNameTurns } from '../src/full-name-turns.ts';
import { deletionSecondsLeft, effectiveGracePeriodSeconds } from '../src/grace-period.ts';
import { countWorkingPods } from '../src/metrics.ts';
import type { PodWorkerState } from '../src/record.ts';
import { retryDelayMs } from '../src/retry-delay.ts';
import { pod } from './kit.ts';

describe('P4: fullNameClaim', () => {
  const record = (update: Partial<PodWorkerState>): PodWorkerState =>
    ({ uid: 'x', static: false, phase: 'syncing', ...update }) as PodWorkerState;
  const others: Readonly<Record<string, PodWorkerState>> = {
    static: record({ static: true }),
    api: record({ pending: { pod: pod({}) } as NonNullable<PodWorkerState['pending']> }),
    runtimeOnly: record({}),
    knownLater: record({ active: { pod: pod({ static: true }) } as NonNullable<PodWorkerState['active']> }),
  };
  const rows: [string, string | undefined, readonly string[] | undefined, PodWorkerState['phase'], string][] = [
    ['the pod holds the name', 'me', ['stranger'], 'syncing', 'held'],
    ['the pod runs already', undefined, ['stranger', 'me'], 'syncing', 'first'],
    ['no pod of the name runs', undefined, [], 'syncing', 'inLine'],
    ['another pod holds the name, and none runs', 'other', [], 'syncing', 'inLine'],
    ['the running pods are not known yet', undefined, undefined, 'syncing', 'blocked'],
    ['a pod without a worker runs', undefined, ['stranger'], 'syncing', 'blocked'],
    ['a static pod runs', undefined, ['static'], 'syncing', 'blocked'],
    ['a pod that only the runtime knows runs', undefined, ['runtimeOnly'], 'syncing', 'blocked'],
    ['a pod that was found to be static runs', undefined, ['knownLater'], 'syncing', 'blocked'],
    ['a pod of the API server runs', undefined, ['api'], 'syncing', 'inLine'],
    ['the pod is terminating', undefined, ['stranger'], 'terminating', 'inLine'],
  ];
  it.each(rows)("P4: a static pod's claim to its full name, if %s, is: $4", (_name, holder, running, phase, claim) => {
    expect(fullNameClaim({ uid: 'me', phase }, holder, running, (uid) => others[uid])).toBe(claim);
  });
});

describe('effectiveGracePeriodSeconds', () => {
  const rows: [string, number | undefined, Parameters<typeof pod>[0] | undefined, number | undefined, number][] = [
    ['that of the spec if there is no other', undefined, { graceSeconds: 40 }, undefined, 40],
    [
      'deletionGracePeriodSeconds before the spec',
      undefined,
      { graceSeconds: 40, deletionGraceSeconds: 50 },
      undefined,
      50,
    ],
    ['that of the kill before the spec', undefined, { graceSeconds: 40 }, 60, 60],
    ['the shorter of a kill and deletionGracePeriodSeconds', undefined, { deletionGraceSeconds: 9 }, 5, 5],
    ['the shorter of deletionGracePeriodSeconds and a kill', undefined, { deletionGraceSeconds: 5 }, 9, 5],
    ['P2: a kill does not extend the current one', 3, {}, 9, 3],
    ['P2: deletionGracePeriodSeconds does not extend the current one', 3, { deletionGraceSeconds: 9 }, undefined, 3],
    ['P2: the spec does not extend the current one', 3, { graceSeconds: 9 }, undefined, 3],
    ['P2: a kill shortens the current one', 9, {}, 3, 3],
    ['at least one second if the spec says 0', undefined, { graceSeconds: 0 }, undefined, 1],
    ['at least one second if a kill requests 0', undefined, {}, 0, 1],
    ['one second for a pod without a spec', undefined, undefined, undefined, 1],
    ['that of the kill for a pod without a spec', undefined, undefined, 7, 7],
  ];
  it.each(rows)('the effective grace period is $4 s: %s', (_name, current, shape, override, seconds) => {
    expect(effectiveGracePeriodSeconds(current, shape && pod(shape), override)).toBe(seconds);
  });
});

describe('C5: deletionSecondsLeft', () => {
  const endMs = Date.parse('2026-01-01T00:00:30Z');
  const rows: [string, string | undefined, number, number | undefined][] = [
    ['all of the grace period', '2026-01-01T00:00:30Z', endMs - 30_000, 30],
    ['a part, rounded up', '2026-01-01T00:00:30Z', endMs - 4001, 5],
    ['0 at its end', '2026-01-01T00:00:30Z', endMs, 0],
    ['0 after its end', '2026-01-01T00:00:30Z', endMs + 3_600_000, 0],
    ['a time with an offset', '2026-01-01T01:00:30+01:00', endMs - 7000, 7],
    ['unknown for a pod that is not deleted', undefined, endMs, undefined],
    ['unknown for an invalid deletionTimestamp', 'soon', endMs, undefined],
  ];
  it.each(rows)(
    'C5: the remaining grace period of a deleted pod is $3 s: %s',
    (_name, deletionTimestamp, nowMs, seconds) => {
      const { metadata, spec } = pod({});
      const deleted = { metadata: { ...metadata, ...(deletionTimestamp && { deletionTimestamp }) }, spec };
      expect(deletionSecondsLeft(deleted, nowMs)).toBe(seconds);
    },
  );
});

describe('P7: retryDelayMs', () => {
  const at = (retryAtMs: number): Error => Object.assign(new Error('back-off'), { retryAtMs });
  const notReady = Object.assign(new Error('x'), { code: 'NetworkNotReady' });
  const loop: Error & { cause?: unknown } = new Error('a');
  loop.cause = new Error('b', { cause: loop });
  const rows: [string, unknown, number, number][] = [
    ['a successful step: the resync interval', undefined, 60_000, 90_000],
    ['an error: the back-off', new Error('x'), 10_000, 15_000],
    ['a thrown value that is no error: the back-off', 'x', 10_000, 15_000],
    ['an error that is its own cause: the back-off', loop, 10_000, 15_000],
    [
      'an error about the missing network: one second',
      new Error('network is not ready: cni plugin not initialized'),
      1000,
      1500,
    ],
    ['an error caused by the code NetworkNotReady: one second', new Error('sync', { cause: notReady }), 1000, 1500],
    ['an error with a retry time: until that time', at(5000), 4000, 5000],
    ['an error with a near retry time: until that time, with up to half of the wait as jitter', at(1200), 200, 300],
    ['an error whose retry time passed during the step: none', at(500), 0, 0],
    ['an error whose retry time had passed before the step: the back-off', at(300), 10_000, 15_000],
    ['an error with a negative retry time: the back-off', at(-1), 10_000, 15_000],
    ['an error with the retry time NaN: the back-off', at(Number.NaN), 10_000, 15_000],
    ['an error with an infinite retry time: the back-off', at(Infinity), 10_000, 15_000],
    [
      'several errors, one with the retry time NaN: until the valid time',
      new AggregateError([at(Number.NaN), at(5000)]),
      4000,
      5000,
    ],
    ['an error with a far retry time: the resync interval', at(500_000), 60_000, 61_000],
    [
      'several errors: until the earliest retry time',
      new AggregateError([at(9000), new Error('y', { cause: at(5000) })]),
      4000,
      5000,
    ],
  ];
  it.each(rows)('P7: the retry delay is between $2 and $3 ms after %s', (_name, error, fromMs, toMs) => {
    const random = seededRandom(7);
    const delays = Array.from({ length: 200 }, () =>
      retryDelayMs(error, { resyncIntervalMs: 60_000, backOffMs: 10_000, nowMs: 1000, overMs: 300, random }),
    );
    expect(Math.min(...delays)).toBeGreaterThanOrEqual(fromMs);
    expect(Math.max(...delays)).toBeLessThanOrEqual(toMs);
    // With jitter, the delays cover most of the range.
    if (toMs > fromMs) expect(Math.max(...delays) - Math.min(...delays)).toBeGreaterThan((toMs - fromMs) * 0.5);
  });
});

describe('periodic syncs of idle pods', () => {
  it("idle pods are synced at twelve times per interval, whenever their last sync was, and within upstream's bounds", () => {
    const fraction = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
    fc.assert(
      fc.property(fc.double({ min: 0, max: 1e9, noNaN: true }), fraction, (nowMs, next) => {
        const context = { resyncIntervalMs: 60_000, backOffMs: 10_000, nowMs, random: { next: () => next } };
        const delayMs = retryDelayMs(undefined, context);
        expect(delayMs).toBeGreaterThanOrEqual(60_000);
        expect(delayMs).toBeLessThanOrEqual(90_000);
        const slot = (nowMs + delayMs) / 5000;
        expect(Math.abs(slot - Math.round(slot))).toBeLessThan(1e-6);
      }),
    );
  });
});

describe('P4: FullNameTurns', () => {
  it('P4: FullNameTurns gives a name only to the first pod in the queue', () => {
    const turns = new FullNameTurns();
    for (const uid of ['a', 'b']) turns.join('n', uid);
    expect(turns.take('n', 'b')).toBe(false);
    expect(turns.take('n', 'a')).toBe(true);
    expect(turns.take('n', 'a')).toBe(true);
    expect(turns.take('n', 'b')).toBe(false);
    expect(turns.holder('n')).toBe('a');
    expect(turns.take('n', 'stranger')).toBe(false);
  });

  it('P4: FullNameTurns returns the next pod when the holder leaves, and none when a waiting pod leaves', () => {
    const turns = new FullNameTurns();
    for (const uid of ['a', 'b', 'c']) turns.join('n', uid);
    turns.take('n', 'a');
    expect(turns.leave('n', 'b')).toBeUndefined();
    expect(turns.leave('n', 'a')).toBe('c');
    expect(turns.take('n', 'c')).toBe(true);
    expect(turns.leave('n', 'c')).toBeUndefined();
    expect(turns.size).toBe(0);
  });

  it('P4: FullNameTurns returns the next pod when the first waiting pod leaves while no pod holds the name', () => {
    const turns = new FullNameTurns();
    for (const uid of ['a', 'b']) turns.join('n', uid);
    expect(turns.leave('n', 'a')).toBe('b');
  });

  it('P4: FullNameTurns lets pods of different full names run at the same time', () => {
    const turns = new FullNameTurns();
    turns.join('n', 'a');
    turns.join('m', 'b');
    expect([turns.take('n', 'a'), turns.take('m', 'b')]).toEqual([true, true]);
  });
});

it('countWorkingPods counts each combination of labels, including those with count 0', () => {
  const counts = countWorkingPods([
    { state: 'sync', orphan: false, hasConfig: true, static: true },
    { state: 'sync', orphan: false, hasConfig: true, static: true },
    { state: 'terminating', orphan: true, hasConfig: true, static: false },
    { state: 'terminated', orphan: true, hasConfig: false, static: false },
  ]);
  expect(counts).toHaveLength(15);
  expect(counts.filter((series) => series.count > 0)).toEqual([
    { lifecycle: 'sync', config: 'desired', static: 'true', count: 2 },
    { lifecycle: 'terminating', config: 'orphan', static: '', count: 1 },
    { lifecycle: 'terminated', config: 'runtime_only', static: 'unknown', count: 1 },
  ]);
});
