import { untilAborted } from '@node-agent/async';
import { FakeClock } from '@node-agent/async/testing';
import { captureLogger } from '@node-agent/telemetry/testing';
import { expect, test } from 'vitest';
import { Fleet } from '../src/fleet.ts';

const plan = (name: string) => ({ name, port: undefined, phaseMs: 0, podCidr: '10.0.0.0/24' });
const ready = async (): Promise<void> => {};

test('a fleet starts its nodes at the given rate, and restarts only the node that failed', async () => {
  const clock = new FakeClock();
  const { logger, lines } = captureLogger();
  const starts: string[] = [];
  const make = ({ name }: { readonly name: string }) => ({
    ready,
    async run(signal: AbortSignal) {
      starts.push(`${name} at ${clock.monotonic() - startMs}`);
      if (name === 'b' && starts.length < 4) throw new Error('disk is full');
      await untilAborted(signal);
    },
  });
  const startMs = clock.monotonic();
  const controller = new AbortController();
  let startedAtMs = -1;
  const running = new Fleet({ clock, logger, make }).run(['a', 'b', 'c'].map(plan), 10, controller.signal, () => {
    startedAtMs = clock.monotonic() - startMs;
  });
  await clock.advance(350);
  expect(starts).toEqual(['a at 0', 'b at 100', 'c at 200']);
  expect(startedAtMs).toBe(300);
  await clock.advance(10_000);
  expect(starts.at(-1)).toBe('b at 10100');
  expect(lines.filter(({ level }) => level === 'error')).toHaveLength(1);
  controller.abort();
  await clock.settle();
  await running;
  expect(clock.pendingTimers).toBe(0);
});

test('a fleet does not start a removed node again', async () => {
  const clock = new FakeClock();
  const { logger } = captureLogger();
  let starts = 0;
  const make = () => ({
    ready,
    async run(signal: AbortSignal) {
      starts++;
      await untilAborted(signal);
    },
  });
  const fleet = new Fleet({ clock, logger, make });
  const controller = new AbortController();
  const running = fleet.run([plan('a')], 1, controller.signal);
  await clock.advance(1000);
  expect([...fleet.nodes.keys()]).toEqual(['a']);
  await fleet.remove('a');
  await clock.advance(60_000);
  expect([starts, fleet.nodes.size]).toEqual([1, 0]);
  controller.abort();
  await running;
});

test('a fleet starts at most 50 nodes at a time, and a node that is not Ready after a minute no longer delays the others', async () => {
  const clock = new FakeClock();
  const { logger, lines } = captureLogger();
  const becomeReady: (() => void)[] = [];
  const make = () => ({
    run: untilAborted,
    ready(signal: AbortSignal) {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      becomeReady.push(resolve);
      signal.addEventListener('abort', () => reject(signal.reason));
      return promise;
    },
  });
  const fleet = new Fleet({ clock, logger, make });
  const controller = new AbortController();
  const plans = Array.from({ length: 120 }, (_, index) => plan(`n${index}`));
  const running = fleet.run(plans, 100, controller.signal);
  await clock.advance(10_000);
  expect(fleet.nodes.size).toBe(50);
  for (const done of becomeReady.splice(0, 20)) done();
  await clock.advance(1_000);
  expect(fleet.nodes.size).toBe(70);
  await clock.advance(48_000);
  expect([fleet.nodes.size, lines.length]).toEqual([70, 0]);
  await clock.advance(3_000);
  expect([fleet.nodes.size, lines.length]).toEqual([100, 30]);
  controller.abort();
  await clock.settle();
  await running;
  expect(clock.pendingTimers).toBe(0);
});
