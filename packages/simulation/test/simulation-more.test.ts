import { expect, test } from 'vitest';
import { failureLines, generateScenario, shrink, simulate } from '../src/index.ts';

/** The seeds after those of `simulation.test.ts`, in a separate file so that both run in parallel. */
const FIRST = 601;
const LAST = 900;
const EVENTS = 5;
const BATCH = 100;

for (let from = FIRST; from <= LAST; from += BATCH) {
  const last = from + BATCH - 1;
  test(`P, C, F, S, K: the simulated seeds ${from} to ${last} break no invariant`, async () => {
    for (let seed = from; seed <= last; seed++) {
      const result = await simulate(generateScenario(seed, { events: EVENTS }));
      if (result.violation !== undefined) expect.fail(failureLines(seed, await shrink(result)).join('\n'));
    }
  }, 240_000);
}
