import { expect, test } from 'vitest';
import { generateScenario, simulate } from '../src/index.ts';

test('the same seed gives the same trace, and another seed another one', async () => {
  const first = await simulate(generateScenario(7));
  const second = await simulate(generateScenario(7));
  const other = await simulate(generateScenario(8));
  expect(second).toEqual(first);
  expect(other.traceHash).not.toBe(first.traceHash);
});
