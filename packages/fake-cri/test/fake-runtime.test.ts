import { ContainerState } from '@node-agent/cri-client';
import { expect, test } from 'vitest';
import { LOGS, readText, sandboxConfig, startPod, world } from './support.ts';

test('a container writes its output to its log, exits on its own and is recorded as exited', async () => {
  const it = await world();
  const { containerId } = await startPod(it, ['sh', '-c', 'echo one; sleep 1; echo two >&2; exit 3']);
  await it.clock.advance(999);
  expect((await it.runtime.containerStatus({ containerId })).status?.state).toBe(ContainerState.CONTAINER_RUNNING);
  await it.clock.advance(1);
  const { status } = await it.runtime.containerStatus({ containerId });
  expect(status).toMatchObject({ state: ContainerState.CONTAINER_EXITED, exitCode: 3, reason: 'Error' });
  expect(await readText(it.fs, `${LOGS}/main_0.log`)).toBe(
    '2026-01-01T00:00:00.000000000Z stdout F one\n2026-01-01T00:00:01.000000000Z stderr F two\n',
  );
});

test('the first process of a container ignores SIGTERM without a handler and is killed after the grace period', async () => {
  const it = await world();
  const { containerId } = await startPod(it, ['sleep', 'infinity']);
  const stopped = it.runtime.stopContainer({ containerId, timeout: 10 });
  await it.clock.advance(9_999);
  expect(it.runtime.liveContainers()).toHaveLength(1);
  await it.clock.advance(1);
  await stopped;
  expect((await it.runtime.containerStatus({ containerId })).status).toMatchObject({ exitCode: 137, reason: 'Error' });
  expect(it.clock.pendingTimers).toBe(0);
});

test('a trapped SIGTERM ends a loop as soon as the current sleep is over', async () => {
  const it = await world();
  const { containerId } = await startPod(it, ['sh', '-c', "trap 'exit 0' TERM; while true; do sleep 1; done"]);
  await it.clock.advance(300);
  const stopped = it.runtime.stopContainer({ containerId, timeout: 10 });
  await it.clock.advance(700);
  await stopped;
  expect((await it.runtime.containerStatus({ containerId })).status).toMatchObject({
    exitCode: 0,
    reason: 'Completed',
  });
  expect(it.clock.pendingTimers).toBe(0);
});

test('with usesPodCidr, later pods get addresses from the range that the kubelet sends', async () => {
  const it = await world({ podCidrs: ['10.1.0.0/24'], usesPodCidr: true });
  const ipOf = async (podSandboxId: string): Promise<string | undefined> =>
    (await it.runtime.podSandboxStatus({ podSandboxId })).status?.network?.ip;
  const first = await it.runtime.runPodSandbox({ config: sandboxConfig() });
  await it.runtime.updateRuntimeConfig({ runtimeConfig: { networkConfig: { podCidr: '10.2.0.0/24' } } });
  const metadata = { name: 'other', namespace: 'default', uid: 'uid-2', attempt: 0 };
  const second = await it.runtime.runPodSandbox({ config: sandboxConfig({ metadata }) });
  expect(await ipOf(first.podSandboxId)).toBe('10.1.0.2');
  expect(await ipOf(second.podSandboxId)).toBe('10.2.0.2');
});

test('forgetDeadContainers removes the records of exited containers only', async () => {
  const it = await world();
  const { containerId: ended } = await startPod(it, ['sh', '-c', 'exit 3']);
  await it.clock.advance(1);
  expect(it.runtime.forgetDeadContainers()).toMatchObject([{ id: ended, attempt: 0 }]);
  expect((await it.runtime.listContainers({ filter: null })).containers).toEqual([]);
  expect(it.runtime.forgetDeadContainers()).toEqual([]);
});
