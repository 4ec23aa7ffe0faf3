import { FakeClock } from '@node-agent/async/testing';
import { expect, test, vi } from 'vitest';
import { waited } from '../src/sync/sync-loop.ts';

test('a wait that ends by itself resolves to true and leaves neither a timer nor a listener', async () => {
  const clock = new FakeClock();
  const { signal } = new AbortController();
  const added = vi.spyOn(signal, 'addEventListener');
  const removed = vi.spyOn(signal, 'removeEventListener');
  const ended = waited(clock, 1000, signal);
  await clock.advance(1000);
  expect(await ended).toBe(true);
  expect([added.mock.calls.length, removed.mock.calls.length, clock.pendingTimers]).toEqual([1, 1, 0]);
  expect(removed.mock.calls[0]?.[1]).toBe(added.mock.calls[0]?.[1]);
});

test('a wait whose signal is aborted resolves to false and leaves no timer', async () => {
  const clock = new FakeClock();
  const controller = new AbortController();
  const during = waited(clock, 1000, controller.signal);
  controller.abort(new Error('SIGTERM'));
  const after = waited(clock, 1000, controller.signal);
  expect([await during, await after, clock.pendingTimers]).toEqual([false, false, 0]);
});
