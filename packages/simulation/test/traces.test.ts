import { expect, test } from 'vitest';
import { type Action, type PodPlan, type Scenario, simulate } from '../src/index.ts';

const pod: PodPlan = {
  name: 'p1',
  uid: 'p1-u1',
  restartPolicy: 'Always',
  graceSeconds: 2,
  init: [],
  containers: [{ name: 'main', runs: [{}], version: 1, startDelayMs: 2300 }],
};
const short: PodPlan = {
  ...pod,
  containers: [{ name: 'main', runs: [{ exitAfterMs: 500 }, { exitAfterMs: 2000 }, {}], version: 1 }],
};

const init: PodPlan['init'][number] = { name: 'init', runs: [{}, { exitAfterMs: 500 }], version: 1 };

function trace(actions: readonly Action[]): Scenario {
  const node = { backOff: { initialMs: 1000, maxMs: 10_000 }, events: true, latencies: true };
  return {
    ...{ seed: 1, actions, faultsEndMs: 120_000, quietMs: 200_000 },
    node: { ...node, http: false, httpDelayMs: 0 },
  };
}

/** Cases of correct behaviour of the kubelet that an invariant once reported as a violation. */
test.each<[what: string, scenario: Scenario, lives: number]>([
  [
    'C6: a pod that was removed during the start of its container and added again is terminated before it is restarted',
    trace([
      { atMs: 200, do: 'writeManifest', file: 'p1.yaml', pod },
      { atMs: 1700, do: 'removeManifest', file: 'p1.yaml' },
      { atMs: 1900, do: 'writeManifest', file: 'p1.yaml', pod },
    ]),
    2,
  ],
  [
    'P3: a pod that was removed and added again while the runtime was down is restarted after its termination',
    trace([
      { atMs: 400, do: 'writeManifest', file: 'p1.yaml', pod: short },
      { atMs: 3500, do: 'crashRuntime', downMs: 100_000, lost: 'none' },
      { atMs: 28_000, do: 'removeManifest', file: 'p1.yaml' },
      { atMs: 38_500, do: 'writeManifest', file: 'p1.yaml', pod: short },
    ]),
    2,
  ],
  [
    'C6: a main container that exits with 0 has completed although one of its processes was OOM-killed',
    trace([
      { atMs: 200, do: 'writeManifest', file: 'p1.yaml', pod: { ...pod, restartPolicy: 'OnFailure' } },
      { atMs: 10_000, do: 'killContainer', nth: 0, exitCode: 0, oomKilled: true },
    ]),
    2,
  ],
  ...(['OnFailure', 'Never'] as const).map((restartPolicy): [string, Scenario, number] => [
    `C6: an init container with an OOM-killed process has failed although it exits with 0: ${restartPolicy}`,
    trace([
      { atMs: 200, do: 'writeManifest', file: 'p1.yaml', pod: { ...pod, init: [init], restartPolicy } },
      { atMs: 10_000, do: 'killContainer', nth: 0, exitCode: 0, oomKilled: true },
    ]),
    restartPolicy === 'Never' ? 2 : 1,
  ]),
])('%s, and no invariant reports a violation', async (_name, scenario, lives) => {
  const seen: string[] = [];
  const result = await simulate(scenario, { onObservation: (text) => seen.push(text) });
  expect(result.violation).toBeUndefined();
  expect(seen.filter((text) => text.includes('syncTerminatedPod p1-u1 succeeded'))).toHaveLength(lives - 1);
});
