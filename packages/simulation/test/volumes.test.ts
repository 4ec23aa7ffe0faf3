import { expect, test } from 'vitest';
import { failureLines, generateScenario, shrink, simulate, Totals } from '../src/index.ts';

/**
 * The number is chosen so that the seeds take about half a minute on one core. `npm run simulate -- --volumes --seeds N` runs
 * more and larger scenarios.
 */
const SEEDS = 60;
const FIRST = 130_000_000;
const EVENTS = 6;
const BATCH = 15;

const totals = new Totals();
for (let from = FIRST; from < FIRST + SEEDS; from += BATCH) {
  const last = from + BATCH - 1;
  test(`V1 to V7 and all others: the simulated seeds ${from} to ${last} break no invariant on a node with CSI volumes`, async () => {
    for (let seed = from; seed <= last; seed++) {
      const result = await simulate(generateScenario(seed, { events: EVENTS, volumes: true }));
      totals.add(result);
      if (result.violation !== undefined) expect.fail(failureLines(seed, await shrink(result)).join('\n'));
    }
  }, 240_000);
}

test('the simulated seeds inject every kind of volume fault and judge the volume invariants', () => {
  for (const kind of ['csiFault', 'restartCsi', 'attacherAway', 'expandVolume', 'powerFailure', 'killKubelet']) {
    expect(totals.faults.get(kind), kind).toBeGreaterThan(5);
  }
  for (const id of ['V1', 'V2', 'V3', 'V4', 'V5', 'V6', 'V7'] as const) {
    expect(totals.checks.get(id), id).toBeGreaterThan(20);
  }
});
