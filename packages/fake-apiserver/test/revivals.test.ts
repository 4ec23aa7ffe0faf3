import { expect, test } from 'vitest';
import { call, PODS, pod, world } from './support.ts';

const patch = { 'content-type': 'application/strategic-merge-patch+json' };
const containers = [
  { name: 'main', image: 'busybox' },
  { name: 'two', image: 'busybox' },
];

function statuses(state: object): object {
  return { status: { containerStatuses: containers.map(({ name }) => ({ name, restartCount: 0, state })) } };
}

/** Returns the status code of an update that reports a pod's terminated containers as waiting. */
async function revived(action: string): Promise<number> {
  const { api } = world();
  const rule = { action, exitCodes: { operator: 'In', values: [3] } };
  const [first, second] = containers;
  const ruled = { ...first, restartPolicy: 'Never', restartPolicyRules: [rule] };
  await call(api, 'POST', PODS, pod('web', { restartPolicy: 'Never', containers: [ruled, second] }));
  const path = `${PODS}/web/status`;
  const ended = await call(api, 'PATCH', path, statuses({ terminated: { exitCode: 0 } }), patch);
  expect(ended.status).toBe(200);
  return (await call(api, 'PATCH', path, statuses({ waiting: {} }), patch)).status;
}

test('a terminated container that must not restart cannot become waiting, unless another container’s exit may restart all containers', async () => {
  expect(await revived('Restart')).toBe(422);
  expect(await revived('RestartAllContainers')).toBe(200);
});

test.each([
  ['initContainerStatuses', 'OnFailure', 0, 422],
  ['initContainerStatuses', 'OnFailure', 1, 200],
  ['initContainerStatuses', 'Never', 1, 422],
  ['initContainerStatuses', 'Always', 0, 200],
  ['ephemeralContainerStatuses', 'Always', 0, 422],
])(
  'a container in %s of a pod with policy %s that exited with %i and becomes waiting gets the response %i',
  async (list, restartPolicy, exitCode, expected) => {
    const { api } = world();
    const initContainers = [{ name: 'first', image: 'busybox' }];
    await call(api, 'POST', PODS, pod('web', { restartPolicy, initContainers, containers }));
    const path = `${PODS}/web/status`;
    const shown = (state: object): object => ({ status: { [list]: [{ name: 'first', restartCount: 0, state }] } });
    expect((await call(api, 'PATCH', path, shown({ terminated: { exitCode } }), patch)).status).toBe(200);
    const waiting = { waiting: {}, terminated: null };
    expect((await call(api, 'PATCH', path, shown(waiting), patch)).status).toBe(expected);
  },
);
