import { expect, test } from 'vitest';
import { allOf } from '../src/all-of.ts';

test('allOf throws the first error in the list, after all promises have settled', async () => {
  let ended = false;
  const slow = Promise.resolve().then(() => {
    ended = true;
  });
  const failed = ['first', 'second'].map((text) => Promise.reject(new Error(text)));
  await expect(allOf([...failed, slow])).rejects.toThrow('first');
  expect(ended).toBe(true);
  await allOf([slow]);
});
