import { expect, test } from 'vitest';
import { withinTurns } from '../src/turns.ts';

test('work that answers at once takes no turn', async () => {
  expect(await withinTurns(() => 'done', 0)).toBe(0);
});

test('what never comes is given up after the last turn, and not before', async () => {
  const never = (): Promise<void> => new Promise(() => {});
  await expect(withinTurns(never, 1)).rejects.toThrow('does not come to an end');
  const some = new Promise((resolve) => setTimeout(resolve, 50));
  expect(await withinTurns(() => some, 100)).toBeGreaterThan(0);
});

test('what the work throws is thrown', async () => {
  const failing = (): never => {
    throw new Error('its own');
  };
  await expect(withinTurns(failing, 5)).rejects.toThrow('its own');
  await expect(withinTurns(() => Promise.reject(new Error('its own')), 5)).rejects.toThrow('its own');
});
