import assert from 'node:assert/strict';
import { ContainerState, CriError, NamespaceMode } from '@node-agent/cri-client';
import type { Examination } from './scene.ts';

/** Compliance cases for stopping containers. */
export const stoppingExaminations: readonly Examination[] = [
  [
    'a container that handles SIGTERM can exit with its own code within the grace period',
    async (scene) => {
      const script = "trap 'exit 5' TERM; echo up; while true; do sleep 0.1; done";
      const containerId = await scene.shell(await scene.hostSandbox(), script);
      await scene.eventually(
        'the handler is set',
        async () => (await scene.output(await scene.status(containerId))) || undefined,
      );
      const before = scene.options.now();
      await scene.cri.stopContainer({ containerId, timeout: 30 });
      assert.ok(scene.options.now() - before < 10_000, 'StopContainer returns before the grace period is over');
      const status = await scene.status(containerId);
      assert.deepEqual([status.state, status.exitCode, status.reason], [ContainerState.CONTAINER_EXITED, 5, 'Error']);
    },
  ],
  [
    'a container that ignores SIGTERM is killed after the grace period',
    async (scene) => {
      const script = "trap '' TERM; echo up; while true; do sleep 0.1; done";
      const containerId = await scene.shell(await scene.hostSandbox(), script);
      await scene.eventually(
        'the signal is ignored',
        async () => (await scene.output(await scene.status(containerId))) || undefined,
      );
      const before = scene.options.now();
      await scene.cri.stopContainer({ containerId, timeout: 1 });
      assert.ok(scene.options.now() - before >= 990, 'the container has its second of grace');
      const status = await scene.status(containerId);
      assert.deepEqual([status.exitCode, status.reason], [137, 'Error']);
    },
  ],
  [
    'the first process of a PID namespace ignores a SIGTERM for which it has no handler',
    async (scene) => {
      const containerId = await scene.started(await scene.hostSandbox(), ['sleep', '1000']);
      await scene.cri.stopContainer({ containerId, timeout: 1 });
      assert.equal((await scene.status(containerId)).exitCode, 137);
    },
  ],
  [
    'a process in the pod’s shared PID namespace dies of SIGTERM with exit code 143',
    async (scene) => {
      const sandbox = await scene.hostSandbox({}, NamespaceMode.POD);
      const namespaceOptions = { network: NamespaceMode.NODE, pid: NamespaceMode.POD };
      const containerId = await scene.started(sandbox, ['sleep', '1000'], {
        linux: { securityContext: { namespaceOptions } },
      });
      await scene.cri.stopContainer({ containerId, timeout: 30 });
      assert.equal((await scene.status(containerId)).exitCode, 143);
    },
  ],
  [
    'a container is killed immediately if its grace period is 0',
    async (scene) => {
      const containerId = await scene.shell(await scene.hostSandbox(), 'sleep 1000');
      await scene.cri.stopContainer({ containerId, timeout: 0 });
      const status = await scene.status(containerId);
      assert.deepEqual([status.exitCode, status.reason], [137, 'Error']);
    },
  ],
  [
    'stopping a container again succeeds and does not change the exit code',
    async (scene) => {
      const done = await scene.ran(await scene.hostSandbox(), 'exit 9');
      await scene.cri.stopContainer({ containerId: done.id, timeout: 0 });
      await scene.cri.stopContainer({ containerId: done.id, timeout: 5 });
      const status = await scene.status(done.id);
      assert.deepEqual([status.exitCode, status.finishedAt], [9, done.finishedAt]);
    },
  ],
  [
    'stopping a container that was not started leaves it in state created',
    async (scene) => {
      const containerId = await scene.created(await scene.hostSandbox(), ['sleep', '1000']);
      await scene.cri.stopContainer({ containerId, timeout: 1 });
      assert.equal((await scene.status(containerId)).state, ContainerState.CONTAINER_CREATED);
    },
  ],
  [
    'two concurrent stops of the same container both succeed',
    async (scene) => {
      // Either of the two StopContainer calls may kill the container first. In both cases, the container has exited by
      // SIGKILL.
      const script = "trap '' TERM; echo up; sleep 1000";
      const containerId = await scene.shell(await scene.hostSandbox(), script);
      await Promise.all([
        scene.cri.stopContainer({ containerId, timeout: 30 }),
        scene.cri.stopContainer({ containerId, timeout: 0 }),
      ]);
      assert.equal((await scene.status(containerId)).exitCode, 137);
    },
  ],
  [
    'stopping a container that never existed succeeds',
    async (scene) => {
      try {
        await scene.cri.stopContainer({ containerId: 'f'.repeat(64), timeout: 1 });
      } catch (error) {
        if (CriError.from(error).code !== 'NOT_FOUND') throw error;
        scene.skip('the runtime returns NOT_FOUND, as containerd before 1.7 does');
      }
    },
  ],
  [
    'removing a container that never existed succeeds',
    async (scene) => {
      await scene.cri.removeContainer({ containerId: 'f'.repeat(64) });
    },
  ],
  [
    'a container is stopped with the stop signal of its configuration',
    async (scene) => {
      const script = "trap 'exit 6' INT; echo up; while true; do sleep 0.1; done";
      const containerId = await scene.shell(await scene.hostSandbox(), script, { stopSignal: 10 });
      const { stopSignal } = await scene.status(containerId);
      if (stopSignal === 0) scene.skip('the runtime does not support stop signals in the configuration');
      assert.equal(stopSignal, 10);
      await scene.eventually(
        'the handler is set',
        async () => (await scene.output(await scene.status(containerId))) || undefined,
      );
      await scene.cri.stopContainer({ containerId, timeout: 30 });
      assert.equal((await scene.status(containerId)).exitCode, 6);
    },
  ],
];
