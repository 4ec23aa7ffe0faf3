import { expect, test } from 'vitest';
import { claim } from '../src/claim.ts';

test('a path is kept by one alone, until that gives it back', async () => {
  const path = `/no/such/${process.pid}`;
  const giveBack = await claim(path);
  expect(giveBack).toBeDefined();
  expect(await claim(path)).toBeUndefined();
  const other = await claim(`${path}0`);
  expect(other).toBeDefined();
  await other?.();
  await giveBack?.();
  const again = await claim(path);
  expect(again).toBeDefined();
  await again?.();
});
