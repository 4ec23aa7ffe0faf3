import { expect, test } from 'vitest';
import { failureLines, generateScenario, shrink, simulate, Totals } from '../src/index.ts';

/**
 * The number is chosen so that the seeds take about a minute on one core. `npm run simulate -- --cluster --seeds N`
 * runs more and larger scenarios.
 */
const SEEDS = 200;
const FIRST = 1000;
const EVENTS = 6;
const BATCH = 25;

const totals = new Totals();
for (let from = FIRST; from < FIRST + SEEDS; from += BATCH) {
  const last = from + BATCH - 1;
  test(`S, F3, K3, N6, W4 and all others: the simulated seeds ${from} to ${last} break no invariant in a cluster`, async () => {
    for (let seed = from; seed <= last; seed++) {
      const result = await simulate(generateScenario(seed, { events: EVENTS, cluster: true }));
      totals.add(result);
      if (result.violation !== undefined) expect.fail(failureLines(seed, await shrink(result)).join('\n'));
    }
  }, 120_000);
}

test('the simulated seeds inject every kind of API server fault and judge the cluster invariants', () => {
  for (const kind of ['status', 'delay', 'hang', 'reset', 'answerLost', 'watch', 'stale']) {
    expect(totals.faults.get(`api ${kind}`), kind).toBeGreaterThan(5);
  }
  for (const kind of [
    'apiAway',
    'apiCreate',
    'apiBroken',
    'apiDelete',
    'apiDeleteMirror',
    'apiCompact',
    'apiWipe',
    'apiStale',
    'apiPut',
    'apiRemove',
    'apiDebug',
    'apiResize',
    'pressure',
    'lowOn',
    'diskFault',
    'killKubelet',
  ]) {
    expect(totals.faults.get(kind), kind).toBeGreaterThan(5);
  }
  for (const id of [
    'S1',
    'S2',
    'S3',
    'S4',
    'S5',
    'S6',
    'S7',
    'S8',
    'F3',
    'K3',
    'N1',
    'N2',
    'N3',
    'N5',
    'N6',
    'W4',
    'P7',
  ] as const) {
    expect(totals.checks.get(id), id).toBeGreaterThan(20);
  }
});
