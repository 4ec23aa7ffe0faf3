import { expect, test } from 'vitest';
import { ENDING, untilTold } from '../src/ending.ts';

test('signals tell work to end, and leave it what time that takes', async () => {
  const listeners = (): readonly number[] => ENDING.map((name) => process.listenerCount(name));
  const before = listeners();
  const told = await untilTold(async (signal) => {
    expect(signal.aborted).toBe(false);
    process.emit('SIGTERM');
    expect(() => signal.throwIfAborted()).toThrow('told to end');
    // Still there for those that follow.
    expect(listeners()).toEqual(before.map((count) => count + 1));
    process.emit('SIGINT');
    return 'done';
  });
  expect([told, listeners()]).toEqual(['done', before]);
});
