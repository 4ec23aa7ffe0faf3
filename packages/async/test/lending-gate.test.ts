import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { type GateTurn, LendingGate } from '../src/lending-gate.ts';
import { FakeClock } from '../src/testing.ts';

const never = new AbortController().signal;

function world(concurrency: number, options = {}) {
  const clock = new FakeClock();
  const gate = new LendingGate({ clock }, { concurrency, overdueMs: 5_000, ...options });
  const order: string[] = [];
  const work = (name: string, turn: GateTurn, ms: number, signal = never): Promise<void> =>
    gate.run(
      turn,
      () => {
        order.push(name);
        return new Promise<void>((resolve) => clock.setTimer(ms, resolve));
      },
      signal,
    );
  return { clock, gate, order, work };
}

test('LendingGate runs at most `concurrency` tasks at a time, and starts waiting tasks in order of arrival', async () => {
  const { clock, order, work } = world(2);
  const all = ['a', 'b', 'c', 'd'].map((name) => work(name, 'normal', 100));
  await clock.advance(50);
  expect(order).toEqual(['a', 'b']);
  await clock.advance(60);
  expect(order).toEqual(['a', 'b', 'c', 'd']);
  await clock.advance(100);
  await Promise.all(all);
  expect(clock.pendingTimers).toBe(0);
});

test('LendingGate starts urgent tasks first, so that pods complete one after another', async () => {
  const { clock, order, work } = world(1);
  const pods = ['p1', 'p2', 'p3'].map(async (name) => {
    await work(`sandbox ${name}`, 'normal', 10);
    await work(`container ${name}`, 'urgent', 10);
  });
  await clock.advance(100);
  await Promise.all(pods);
  // When a sandbox is finished, its place goes to the next sandbox immediately, before the pod's container requests a
  // place.
  expect(order.indexOf('container p1')).toBeLessThan(order.indexOf('sandbox p3'));
  expect(order.indexOf('container p2')).toBeLessThan(order.indexOf('container p3'));
});

test('in a LendingGate, urgent tasks overtake a waiting normal task only maxOvertakes times', async () => {
  const { clock, order, work } = world(1, { maxOvertakes: 3 });
  const all = [work('first', 'normal', 10), work('fresh', 'normal', 10)];
  for (let n = 0; n < 10; n++) all.push(work(`restart ${n}`, 'urgent', 10));
  await clock.advance(200);
  await Promise.all(all);
  expect(order.indexOf('fresh')).toBe(4);
});

test('C7: tasks that hang delay other tasks of a LendingGate only by the overdue time', async () => {
  const { clock, order, work } = world(2, { overdueMs: 5_000 });
  const hung = [work('hung 1', 'normal', 240_000), work('hung 2', 'normal', 240_000)];
  const others = ['a', 'b', 'c'].map((name) => work(name, 'normal', 100));
  await clock.advance(5_300);
  await Promise.all(others);
  expect(order).toEqual(['hung 1', 'hung 2', 'a', 'b', 'c']);
  await clock.advance(240_000);
  await Promise.all(hung);
  const again = ['d', 'e', 'f'].map((name) => work(name, 'normal', 100));
  await clock.advance(50);
  // Each hung task released its place once, not twice.
  expect(order.slice(5)).toEqual(['d', 'e']);
  await clock.advance(300);
  await Promise.all(again);
});

test('a higher concurrency of a LendingGate starts waiting tasks at once, and a lower one lets running tasks finish', async () => {
  const { clock, gate, order, work } = world(1);
  const all = ['a', 'b', 'c', 'd', 'e'].map((name) => work(name, 'normal', 100));
  await clock.advance(10);
  expect(order).toEqual(['a']);
  gate.concurrency = 3;
  await clock.advance(10);
  expect(order).toEqual(['a', 'b', 'c']);
  gate.concurrency = 1;
  // `a` ends and then `b` and `c`; a place is free only after all but one of them have ended.
  await clock.advance(85);
  expect(order).toEqual(['a', 'b', 'c']);
  await clock.advance(10);
  expect(order).toEqual(['a', 'b', 'c', 'd']);
  await clock.advance(300);
  await Promise.all(all);
  expect(order).toEqual(['a', 'b', 'c', 'd', 'e']);
  expect(() => {
    gate.concurrency = 0;
  }).toThrow('LendingGate: concurrency');
  expect(gate.concurrency).toBe(1);
});

test('a task that is aborted while it waits leaves the queue of a LendingGate and occupies no place', async () => {
  const { clock, gate, order, work } = world(1);
  const stop = new AbortController();
  const first = work('first', 'normal', 100);
  const second = work('second', 'normal', 100, stop.signal).catch((err: unknown) => String(err));
  const third = work('third', 'normal', 100);
  await clock.settle();
  stop.abort('enough');
  expect(await second).toBe('enough');
  expect(gate.waiting).toBe(1);
  await clock.advance(250);
  await Promise.all([first, third]);
  expect(order).toEqual(['first', 'third']);
  await expect(work('late', 'normal', 1, stop.signal)).rejects.toBe('enough');
});

test('a failed task releases its place in a LendingGate, and the caller gets the error', async () => {
  const { clock, gate, order, work } = world(1);
  await expect(gate.run('normal', () => Promise.reject(new Error('no')), never)).rejects.toThrow('no');
  const next = work('next', 'normal', 1);
  await clock.advance(1);
  await next;
  expect(order).toEqual(['next']);
});

test('for random tasks and aborts, LendingGate runs every task, and never more than `concurrency` at a time', async () => {
  const job = fc.record({
    turn: fc.constantFrom<GateTurn>('urgent', 'normal'),
    atMs: fc.nat(500),
    ms: fc.integer({ min: 1, max: 300 }),
    abortAtMs: fc.option(fc.nat(800), { nil: undefined }),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(job, { maxLength: 30 }), fc.integer({ min: 1, max: 4 }), async (jobs, concurrency) => {
      const clock = new FakeClock();
      const gate = new LendingGate({ clock }, { concurrency, overdueMs: 5_000 });
      let running = 0;
      let done = 0;
      for (const { turn, atMs, ms, abortAtMs } of jobs) {
        const stop = new AbortController();
        if (abortAtMs !== undefined) clock.setTimer(abortAtMs, () => stop.abort('stop'));
        const work = async (): Promise<void> => {
          running++;
          expect(running).toBeLessThanOrEqual(concurrency);
          await new Promise<void>((resolve) => clock.setTimer(ms, resolve));
          running--;
        };
        clock.setTimer(atMs, () => {
          const settle = (): void => {
            done++;
          };
          gate.run(turn, work, stop.signal).then(settle, settle);
        });
      }
      await clock.advance(20_000);
      expect([done, running, gate.waiting]).toEqual([jobs.length, 0, 0]);
    }),
  );
});
