import { expect, test } from 'vitest';
import { generateScenario, type PodPlan, type Scenario } from '../src/index.ts';
import { healthy, quietNode, seenBroken, steps } from './mutants.ts';

const cluster: Omit<Scenario, 'actions'> = { ...quietNode, node: { ...quietNode.node, cluster: true } };
const pod: PodPlan = {
  ...{ ...healthy, name: 'a1', uid: 'a1-u', graceSeconds: 30 },
  containers: [{ name: 'main', runs: [{}], version: 1, ignoreTerm: true }],
};

/**
 * A pod is force-deleted in the API, and a pod with the same name is created while the first one is still terminating.
 */
const succeeded: Scenario = {
  ...cluster,
  actions: [
    { atMs: 100, do: 'apiCreate', pod },
    { atMs: 10_000, do: 'apiDelete', name: 'a1', uid: 'a1-u', force: true },
    { atMs: 10_000, do: 'apiCreate', pod: { ...pod, uid: 'a1-v', containers: healthy.containers } },
  ],
};

/**
 * Returns a scenario in which a pod is deleted once with each of these grace periods. `undefined` stands for the grace
 * period of the spec.
 */
const hurried = (...graces: readonly (number | undefined)[]): Scenario => ({
  ...cluster,
  actions: [
    { atMs: 100, do: 'apiCreate', pod },
    ...graces.map((graceSeconds, index) => ({
      ...{ atMs: 10_000 + index * 2000, do: 'apiDelete' as const, name: 'a1', uid: 'a1-u', force: false },
      ...(graceSeconds !== undefined && { graceSeconds }),
    })),
  ],
});

seenBroken([
  [
    'S3',
    'a status is written to another pod of the same name',
    () => ({
      api: (inner) => (request, signal) => {
        if (request.method !== 'PATCH') return inner(request, signal);
        const { metadata: _which, ...patch } = JSON.parse(String(request.body)) as Readonly<Record<string, unknown>>;
        return inner({ ...request, body: JSON.stringify(patch) }, signal);
      },
    }),
    succeeded,
  ],
  [
    'C5',
    'the kubelet ignores the grace period of a deletion',
    () =>
      steps((inner) => ({
        syncTerminatingPod: (one, status, _seconds, ...rest) => inner.syncTerminatingPod(one, status, 30, ...rest),
      })),
    hurried(1),
  ],
  [
    'C5',
    'the kubelet does not shorten the grace period',
    () => {
      let first: number | undefined;
      return steps((inner) => ({
        syncTerminatingPod: (one, status, seconds, ...rest) => {
          first ??= seconds;
          return inner.syncTerminatingPod(one, status, first, ...rest);
        },
      }));
    },
    hurried(undefined, 1),
  ],
]);

test('generated scenarios recreate pods under the same name and shorten grace periods', () => {
  const actions = Array.from({ length: 200 }, (_, seed) => generateScenario(seed, { cluster: true }).actions).flat();
  const created = actions.filter((action) => action.do === 'apiCreate').map((action) => action.pod);
  const deleted = actions.filter((action) => action.do === 'apiDelete');
  expect(created.filter(({ uid }) => uid.endsWith('-next')).length).toBeGreaterThan(10);
  expect(created.filter(({ uid }) => uid.endsWith('-next-next')).length).toBeGreaterThan(0);
  expect(deleted.filter(({ graceSeconds }) => graceSeconds !== undefined).length).toBeGreaterThan(20);
  for (const { force, graceSeconds } of deleted) expect(force && graceSeconds !== undefined).toBe(false);
});
