import { expect, test } from 'vitest';
import { generateScenario, type PodPlan, type Scenario } from '../src/index.ts';
import { healthy, quietNode, seenBroken, steps } from './mutants.ts';

const cluster: Omit<Scenario, 'actions'> = { ...quietNode, node: { ...quietNode.node, cluster: true } };
const pod: PodPlan = {
  ...{ ...healthy, name: 'a1', uid: 'a1-u', graceSeconds: 30 },
  containers: [{ name: 'main', runs: [{}], version: 1, ignoreTerm: true }],
};

/** A pod is taken out of the API at once, and another one comes under its name while the first still ends. */
const succeeded: Scenario = {
  ...cluster,
  actions: [
    { atMs: 100, do: 'apiCreate', pod },
    { atMs: 10_000, do: 'apiDelete', name: 'a1', uid: 'a1-u', force: true },
    { atMs: 10_000, do: 'apiCreate', pod: { ...pod, uid: 'a1-v', containers: healthy.containers } },
  ],
};

/** A pod is deleted with less time than its spec gives it; or as that says, and once more with less. */
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
    'a status is written to whatever pod has the name',
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
    'who deletes a pod does not say how long it has',
    () =>
      steps((inner) => ({
        syncTerminatingPod: (one, status, _seconds, ...rest) => inner.syncTerminatingPod(one, status, 30, ...rest),
      })),
    hurried(1),
  ],
  [
    'C5',
    'a grace period does not become shorter',
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

test('pods come again under their names, and are deleted with less and less time', () => {
  const actions = Array.from({ length: 200 }, (_, seed) => generateScenario(seed, { cluster: true }).actions).flat();
  const created = actions.filter((action) => action.do === 'apiCreate').map((action) => action.pod);
  const deleted = actions.filter((action) => action.do === 'apiDelete');
  expect(created.filter(({ uid }) => uid.endsWith('-next')).length).toBeGreaterThan(10);
  expect(created.filter(({ uid }) => uid.endsWith('-next-next')).length).toBeGreaterThan(0);
  expect(deleted.filter(({ graceSeconds }) => graceSeconds !== undefined).length).toBeGreaterThan(20);
  for (const { force, graceSeconds } of deleted) expect(force && graceSeconds !== undefined).toBe(false);
});
