import { expect, test } from 'vitest';
import { failureLines, generateScenario, shrink, simulate, Totals } from '../src/index.ts';

/**
 * The number is chosen so that the seeds take about half a minute on one core. `npm run simulate -- --resources --seeds N`
 * runs more and larger scenarios.
 */
const SEEDS = 60;
const FIRST = 130_100_000;
const EVENTS = 6;
const BATCH = 15;

const totals = new Totals();
for (let from = FIRST; from < FIRST + SEEDS; from += BATCH) {
  const last = from + BATCH - 1;
  test(`N11, N12 and all others: the simulated seeds ${from} to ${last} break no invariant on a node with exclusive resources`, async () => {
    for (let seed = from; seed <= last; seed++) {
      const result = await simulate(generateScenario(seed, { events: EVENTS, resources: true }));
      totals.add(result);
      if (result.violation !== undefined) expect.fail(failureLines(seed, await shrink(result)).join('\n'));
    }
  }, 240_000);
}

test('the simulated seeds inject every kind of resource fault and judge the resource invariants', () => {
  for (const kind of ['changePolicies', 'apiResizeWhole', 'draFault', 'restartDra', 'killKubelet']) {
    expect(totals.faults.get(kind), kind).toBeGreaterThan(5);
  }
  for (const id of ['N11', 'N12'] as const) expect(totals.checks.get(id), id).toBeGreaterThan(100);
});
