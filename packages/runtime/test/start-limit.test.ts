import { LendingGate } from '@node-agent/async';
import { FakeClock } from '@node-agent/async/testing';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { nextStartLimit, StartLimit } from '../src/reconcile/start-limit.ts';

const LEAST = 4;
const signal = new AbortController().signal;

test.each([
  ['as fast as a single start, others wait: one more', 8, { durationMs: 100, shortestMs: 100, othersWait: true }, 9],
  ['a little slower, others wait: one more', 8, { durationMs: 125, shortestMs: 100, othersWait: true }, 9],
  [
    'as fast as a single start, no other waits: unchanged',
    8,
    { durationMs: 100, shortestMs: 100, othersWait: false },
    8,
  ],
  ['slower: unchanged', 8, { durationMs: 126, shortestMs: 100, othersWait: true }, 8],
  ['twice as slow: one less', 8, { durationMs: 200, shortestMs: 100, othersWait: true }, 7],
  ['twice as slow, no other waits: one less', 8, { durationMs: 200, shortestMs: 100, othersWait: false }, 7],
  ['never below the least limit', LEAST, { durationMs: 900, shortestMs: 100, othersWait: true }, LEAST],
  ['never above eight times the least limit', 32, { durationMs: 100, shortestMs: 100, othersWait: true }, 32],
  ['a runtime without latency', LEAST, { durationMs: 0, shortestMs: 0, othersWait: true }, LEAST + 1],
])('limit of concurrent starts: %s', (_name, limit, start, next) => {
  expect(nextStartLimit(limit, LEAST, start)).toBe(next);
});

/** Starts pods through a gate whose limit adapts, with `takesMs(running)` as the duration of a start. */
async function startPods(count: number, takesMs: (running: number) => number) {
  const clock = new FakeClock();
  const gate = new LendingGate({ clock }, { concurrency: LEAST, overdueMs: 60_000 });
  const limit = new StartLimit({ clock, gate });
  let running = 0;
  let most = 0;
  const start = async (): Promise<void> => {
    const startMs = clock.monotonic();
    running++;
    most = Math.max(most, running);
    await new Promise<void>((resolve) => clock.setTimer(takesMs(running), resolve));
    running--;
    limit.observe('', clock.monotonic() - startMs);
  };
  const all = Promise.all(Array.from({ length: count }, () => gate.run('normal', start, signal)));
  let ended = false;
  void all.then(() => {
    ended = true;
  });
  while (!ended) await clock.advance(5);
  return { most, lastMs: clock.monotonic(), limit: gate.concurrency, clock, gate, starts: limit };
}

test('many pods start concurrently if the runtime starts them as fast as a single one', async () => {
  const { most, lastMs } = await startPods(60, () => 100);
  expect(most).toBeGreaterThan(16);
  // With four at a time, the last pod would start after 1,500 ms.
  expect(lastMs).toBeLessThanOrEqual(500);
});

test('few pods start concurrently if starts slow each other down, even if the runtime was never seen unloaded', async () => {
  const twoCpus = (running: number): number => 100 * Math.max(1, running / 2);
  const { most } = await startPods(60, twoCpus);
  expect(most).toBeLessThanOrEqual(LEAST + 4);
});

test('the limit of concurrent starts falls to the least one when starts begin to slow each other down', async () => {
  const { clock, gate, starts, limit } = await startPods(60, () => 100);
  expect(limit).toBeGreaterThan(16);
  for (let n = 0; n < 60; n++) starts.observe('', 300);
  expect(gate.concurrency).toBe(LEAST);
  // A start as slow as this one is normal once the faster ones are forgotten.
  await clock.advance(1_200_001);
  const waiting = Array.from({ length: 6 }, () => gate.run('normal', () => new Promise<void>(() => {}), signal));
  starts.observe('', 300);
  expect(gate.concurrency).toBe(LEAST + 1);
  expect(waiting).toHaveLength(6);
});

test('a start is compared with starts of the same runtime handler', async () => {
  const clock = new FakeClock();
  const gate = new LendingGate({ clock }, { concurrency: 1, overdueMs: 60_000 });
  const limit = new StartLimit({ clock, gate });
  for (let n = 0; n < 9; n++) void gate.run('normal', () => new Promise<void>(() => {}), signal);
  limit.observe('', 100);
  limit.observe('vm', 2_000);
  expect(gate.concurrency).toBe(3);
  limit.observe('', 2_000);
  expect(gate.concurrency).toBe(2);
});

test('C7: for any durations, the limit of concurrent starts stays between the least one and eight times that', () => {
  // Mostly undisturbed starts, so that the limit reaches its maximum.
  const durationMs = fc.oneof({ weight: 9, arbitrary: fc.constant(100) }, { arbitrary: fc.nat(5_000), weight: 1 });
  const observed = fc.tuple(fc.constantFrom('', 'vm'), durationMs, fc.nat(100_000));
  return fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 4 }), fc.array(observed, { maxLength: 60 }), async (least, all) => {
      const clock = new FakeClock();
      const gate = new LendingGate({ clock }, { concurrency: least, overdueMs: 60_000 });
      const limit = new StartLimit({ clock, gate });
      for (let n = 0; n < 200; n++) void gate.run('normal', () => new Promise<void>(() => {}), signal);
      for (const [handler, durationMs, laterMs] of all) {
        limit.observe(handler, durationMs);
        expect(gate.concurrency).toBeGreaterThanOrEqual(least);
        expect(gate.concurrency).toBeLessThanOrEqual(8 * least);
        await clock.advance(laterMs);
      }
    }),
  );
});
