import { expect, test } from 'vitest';
import { failureLines, generateScenario, shrink, simulate, Totals } from '../src/index.ts';
import { invariant } from '../src/invariants/invariant.ts';

/**
 * The number is chosen so that the seeds take about two minutes on one core. `npm
 * run simulate -- --seeds N` runs more and larger scenarios.
 */
const SEEDS = 600;
const EVENTS = 5;
const BATCH = 50;

const totals = new Totals();
for (let from = 1; from <= SEEDS; from += BATCH) {
  const last = from + BATCH - 1;
  test(`P, C, F, S, K: the simulated seeds ${from} to ${last} break no invariant`, async () => {
    for (let seed = from; seed <= last; seed++) {
      const result = await simulate(generateScenario(seed, { events: EVENTS }));
      totals.add(result);
      if (result.violation !== undefined) expect.fail(failureLines(seed, await shrink(result)).join('\n'));
    }
  }, 120_000);
}

test('the simulated seeds inject every kind of fault and judge all but the rarest invariants', () => {
  const kinds = ['delay', 'error', 'hang', 'lateSuccess', 'answerLost'].map((kind) => `rpc ${kind}`);
  const others = ['killKubelet', 'crashRuntime', 'fileFault', 'event drop', 'jumpClock', 'killSandbox'];
  const ofDevices = ['deviceIll', 'restartPlugin', 'pluginFault'];
  for (const kind of [...kinds, ...others, ...ofDevices]) expect(totals.faults.get(kind), kind).toBeGreaterThan(10);
  const rare = ['F2', 'K2', 'K4', 'C7', 'F1'];
  // The invariants of a node in a cluster are judged only in `cluster.test.ts`.
  const inCluster = ['S4', 'S5', 'S6', 'S7', 'S8', 'F3', 'K3', 'N6', 'W4'];
  // The invariants of CSI volumes and exclusive resources are judged only in `volumes.test.ts` and `resources.test.ts`.
  const withVolumes = ['V1', 'V2', 'V3', 'V4', 'V5', 'V6', 'V7'];
  const withResources = ['N11', 'N12'];
  const elsewhere = [...rare, ...inCluster, ...withVolumes, ...withResources];
  for (const [id, checks] of totals.checks) if (!elsewhere.includes(id)) expect(checks, id).toBeGreaterThan(0);
});

test('the same seed gives the same trace, and another seed gives another trace', async () => {
  const first = await simulate(generateScenario(7));
  const second = await simulate(generateScenario(7));
  const other = await simulate(generateScenario(8));
  expect(second).toEqual(first);
  expect(other.traceHash).not.toBe(first.traceHash);
});

test('an invariant that throws ends the run with its name, and is not taken for a failed call of the runtime', async () => {
  let looks = 0;
  const throwing = invariant('C1', ['containerStarted'], () => () => {
    looks++;
    throw new TypeError('no such pod');
  });
  const result = simulate(generateScenario(7), { invariants: [throwing] });
  await expect(result).rejects.toMatchObject({
    message: 'check C1 on observation containerStarted',
    cause: new TypeError('no such pod'),
  });
  expect(looks).toBe(1);
});
