import { expect, test } from 'vitest';
import { withinTurns } from '../src/turns.ts';

test('synchronous work takes no turns of the event loop', async () => {
  expect(await withinTurns(() => 'done', 0)).toBe(0);
});

test('rejects endless work after the last turn', async () => {
  const never = (): Promise<void> => new Promise(() => {});
  await expect(withinTurns(never, 1)).rejects.toThrow('exceeds the limit of event loop turns');
  const some = new Promise((resolve) => setTimeout(resolve, 50));
  expect(await withinTurns(() => some, 100)).toBeGreaterThan(0);
});

test('rejects with the error of the work', async () => {
  const failing = (): never => {
    throw new Error('error of the work');
  };
  await expect(withinTurns(failing, 5)).rejects.toThrow('error of the work');
  await expect(withinTurns(() => Promise.reject(new Error('error of the work')), 5)).rejects.toThrow(
    'error of the work',
  );
});
