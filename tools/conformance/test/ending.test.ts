import { expect, test } from 'vitest';
import { ENDING, withEndSignal } from '../src/ending.ts';

test("a signal aborts the work's AbortSignal and does not end the process before the work is done", async () => {
  const listeners = (): readonly number[] => ENDING.map((name) => process.listenerCount(name));
  const before = listeners();
  const result = await withEndSignal(async (signal) => {
    expect(signal.aborted).toBe(false);
    process.emit('SIGTERM');
    expect(() => signal.throwIfAborted()).toThrow('interrupted by a signal');
    // The listeners stay for further signals.
    expect(listeners()).toEqual(before.map((count) => count + 1));
    process.emit('SIGINT');
    return 'done';
  });
  expect([result, listeners()]).toEqual(['done', before]);
});
