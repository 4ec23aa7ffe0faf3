import assert from 'node:assert/strict';
import { type ContainerEventResponse, ContainerEventType, ContainerState, CriError } from '@node-agent/cri-client';
import type { Examination, Scene } from './scene.ts';

const { CONTAINER_CREATED_EVENT, CONTAINER_DELETED_EVENT, CONTAINER_STARTED_EVENT, CONTAINER_STOPPED_EVENT } =
  ContainerEventType;

/** Collects the runtime's events from now on. Skips the case if the runtime has no events. */
async function listen(
  scene: Scene,
): Promise<{ readonly heard: ContainerEventResponse[]; readonly stop: () => Promise<void> }> {
  const heard: ContainerEventResponse[] = [];
  const stopped = new AbortController();
  let failure: unknown;
  const reading = (async () => {
    try {
      for await (const event of scene.cri.getContainerEvents({}, stopped.signal)) heard.push(event);
    } catch (error) {
      if (!stopped.signal.aborted) failure = error;
    }
  })();
  // A runtime without events returns its error within this time.
  await scene.options.wait(200);
  if (failure !== undefined) {
    if (CriError.from(failure).code === 'UNIMPLEMENTED')
      scene.skip('the runtime does not implement GetContainerEvents');
    throw failure;
  }
  const stop = async (): Promise<void> => {
    stopped.abort();
    await reading;
  };
  return { heard, stop };
}

/** Compliance cases for container events. */
export const eventExaminations: readonly Examination[] = [
  [
    'the runtime sends an event for each change in a pod’s life, with the statuses at that time',
    async (scene) => {
      const { heard, stop } = await listen(scene);
      try {
        const sandbox = await scene.hostSandbox();
        const done = await scene.ran(sandbox, 'sleep 0.3; exit 3');
        await scene.cri.removeContainer({ containerId: done.id });
        await scene.cri.removePodSandbox({ podSandboxId: sandbox.id });
        const about = (id: string): ContainerEventResponse[] => heard.filter((event) => event.containerId === id);
        await scene.eventually('the last event arrives', async () =>
          about(sandbox.id).some((event) => event.containerEventType === CONTAINER_DELETED_EVENT) ? true : undefined,
        );
        const types = (id: string): number[] => about(id).map((event) => event.containerEventType);
        assert.deepEqual(types(done.id), [
          CONTAINER_CREATED_EVENT,
          CONTAINER_STARTED_EVENT,
          CONTAINER_STOPPED_EVENT,
          CONTAINER_DELETED_EVENT,
        ]);
        assert.deepEqual(types(sandbox.id), [
          CONTAINER_CREATED_EVENT,
          CONTAINER_STARTED_EVENT,
          CONTAINER_STOPPED_EVENT,
          CONTAINER_DELETED_EVENT,
        ]);
        const stopped = about(done.id)[2];
        assert.equal(stopped?.podSandboxStatus?.id, sandbox.id);
        assert.equal(stopped?.podSandboxStatus?.metadata?.uid, sandbox.config.metadata?.uid);
        const [status] = stopped?.containersStatuses ?? [];
        assert.deepEqual([status?.id, status?.state, status?.exitCode], [done.id, ContainerState.CONTAINER_EXITED, 3]);
        assert.ok((stopped?.createdAt ?? 0) > 0);
      } finally {
        await stop();
      }
    },
  ],
  [
    'the event of a killed container arrives within half a second',
    async (scene) => {
      const { heard, stop } = await listen(scene);
      try {
        const containerId = await scene.started(await scene.hostSandbox(), ['sleep', '1000']);
        await scene.cri.stopContainer({ containerId, timeout: 0 });
        const before = scene.options.now();
        await scene.eventually('the event arrives', async () =>
          heard.find(
            (event) => event.containerId === containerId && event.containerEventType === CONTAINER_STOPPED_EVENT,
          ),
        );
        assert.ok(scene.options.now() - before < 500);
      } finally {
        await stop();
      }
    },
  ],
  [
    'two subscribers receive the same events',
    async (scene) => {
      const first = await listen(scene);
      const second = await listen(scene);
      try {
        const { id } = await scene.hostSandbox();
        for (const { heard } of [first, second]) {
          await scene.eventually('both have heard', async () =>
            heard.find((event) => event.containerId === id && event.containerEventType === CONTAINER_STARTED_EVENT),
          );
        }
      } finally {
        await first.stop();
        await second.stop();
      }
    },
  ],
];
