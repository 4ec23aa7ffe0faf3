import assert from 'node:assert/strict';
import { ContainerState } from '@node-agent/cri-client';
import { type Examination, refused } from './scene.ts';

const { CONTAINER_CREATED, CONTAINER_EXITED, CONTAINER_RUNNING } = ContainerState;

/** Compliance cases for operations on containers. */
export const containerExaminations: readonly Examination[] = [
  [
    'a created container has a creation time, but no start time, exit time or exit code',
    async (scene) => {
      const status = await scene.status(await scene.created(await scene.hostSandbox(), ['sleep', '1000']));
      assert.equal(status.state, CONTAINER_CREATED);
      assert.ok(Math.abs(status.createdAt / 1e6 - scene.options.now()) < 10_000);
      assert.deepEqual([status.startedAt, status.finishedAt, status.exitCode, status.reason], [0, 0, 0, '']);
    },
  ],
  [
    'a running container has a start time after its creation time',
    async (scene) => {
      const status = await scene.status(await scene.shell(await scene.hostSandbox(), 'sleep 1000'));
      assert.equal(status.state, CONTAINER_RUNNING);
      assert.ok(status.startedAt >= status.createdAt);
      assert.deepEqual([status.finishedAt, status.exitCode, status.reason], [0, 0, '']);
    },
  ],
  [
    'a container that exits with 0 has reason Completed',
    async (scene) => {
      // The script sleeps because containerd records the start time when the start call returns. A container that exits
      // immediately could have an exit time before its start time.
      const status = await scene.ran(await scene.hostSandbox(), 'sleep 0.3; exit 0');
      assert.deepEqual([status.exitCode, status.reason], [0, 'Completed']);
      assert.ok(status.finishedAt >= status.startedAt && status.startedAt >= status.createdAt);
    },
  ],
  [
    'a container that exits with a nonzero code has this code and reason Error',
    async (scene) => {
      const sandbox = await scene.hostSandbox();
      const three = await scene.ran(sandbox, 'sleep 0.2; exit 3');
      assert.deepEqual([three.exitCode, three.reason], [3, 'Error']);
      assert.ok(three.finishedAt - three.startedAt >= 150e6, 'the container ran for its 200 ms');
      const most = await scene.ran(sandbox, 'exit 255');
      assert.deepEqual([most.exitCode, most.reason], [255, 'Error']);
    },
  ],
  [
    'the commands true and false exit with 0 and 1',
    async (scene) => {
      const sandbox = await scene.hostSandbox();
      assert.equal((await scene.exited(await scene.started(sandbox, ['true']))).exitCode, 0);
      assert.equal((await scene.exited(await scene.started(sandbox, ['false']))).exitCode, 1);
    },
  ],
  [
    'a container gets its command followed by its arguments',
    async (scene) => {
      const sandbox = await scene.hostSandbox();
      const id = await scene.started(sandbox, ['sh'], { args: ['-c', 'exit 7'] });
      assert.equal((await scene.exited(id)).exitCode, 7);
    },
  ],
  [
    'C1: a second container with the same name and attempt is rejected in every state of the first; the next attempt is accepted',
    async (scene) => {
      const sandbox = await scene.hostSandbox();
      const config = scene.containerConfig(['sh', '-c', 'exit 0']);
      const request = { podSandboxId: sandbox.id, config, sandboxConfig: sandbox.config };
      const { containerId } = await scene.cri.createContainer(request);
      await refused(scene.cri.createContainer(request), { words: /reserve/ });
      await scene.cri.startContainer({ containerId });
      await refused(scene.cri.createContainer(request), { words: /reserve/ });
      await scene.exited(containerId);
      await refused(scene.cri.createContainer(request), { words: /reserve/ });
      const next = { ...config, metadata: { ...config.metadata, attempt: 1 } };
      await scene.cri.createContainer({ ...request, config: next });
    },
  ],
  [
    'a removed container releases its name',
    async (scene) => {
      const sandbox = await scene.hostSandbox();
      const config = scene.containerConfig(['sleep', '1000']);
      const request = { podSandboxId: sandbox.id, config, sandboxConfig: sandbox.config };
      const first = await scene.cri.createContainer(request);
      await scene.cri.removeContainer(first);
      assert.notEqual((await scene.cri.createContainer(request)).containerId, first.containerId);
    },
  ],
  [
    'containers with the same name can exist in different pods',
    async (scene) => {
      const overrides = { metadata: { name: 'same', attempt: 0 } };
      const first = await scene.created(await scene.hostSandbox(), ['true'], overrides);
      const second = await scene.created(await scene.hostSandbox(), ['true'], overrides);
      assert.notEqual(first, second);
    },
  ],
  [
    'creating a container in a stopped sandbox is rejected',
    async (scene) => {
      const sandbox = await scene.hostSandbox();
      await scene.cri.stopPodSandbox({ podSandboxId: sandbox.id });
      // containerd 2.4 may still create a container in the moment after the stop.
      await scene.eventually('no container can be created', () =>
        scene.created(sandbox, ['true']).then(
          () => undefined,
          () => true,
        ),
      );
      await refused(scene.created(sandbox, ['true']));
    },
  ],
  [
    'creating a container in a sandbox that never existed is rejected',
    async (scene) => {
      const sandbox = await scene.hostSandbox();
      await refused(scene.created({ ...sandbox, id: 'f'.repeat(64) }, ['true']), { code: 'NOT_FOUND' });
    },
  ],
  [
    'creating a container of an absent image is rejected and does not reserve the name',
    async (scene) => {
      const sandbox = await scene.hostSandbox();
      const metadata = { name: 'imageless', attempt: 0 };
      const image = { image: 'node-agent.invalid/absent:1' };
      await refused(scene.created(sandbox, ['true'], { metadata, image }), { code: 'NOT_FOUND' });
      await scene.created(sandbox, ['true'], { metadata });
    },
  ],
  [
    'creating a container without metadata is rejected',
    async (scene) => {
      const sandbox = await scene.hostSandbox();
      await refused(scene.created(sandbox, ['true'], { metadata: null }));
    },
  ],
  [
    'starting a container a second time is rejected',
    async (scene) => {
      const sandbox = await scene.hostSandbox();
      const running = await scene.shell(sandbox, 'sleep 1000');
      await refused(scene.cri.startContainer({ containerId: running }), { words: /CONTAINER_RUNNING/ });
      const done = await scene.ran(sandbox, 'exit 0');
      await refused(scene.cri.startContainer({ containerId: done.id }), { words: /CONTAINER_EXITED/ });
    },
  ],
  [
    'starting a container in a sandbox that is no longer ready is rejected',
    async (scene) => {
      const sandbox = await scene.hostSandbox();
      const containerId = await scene.created(sandbox, ['sleep', '1000']);
      await scene.cri.stopPodSandbox({ podSandboxId: sandbox.id });
      // Immediately after the stop, containerd 2 may not have recorded the sandbox's exit yet and then reports a
      // missing shim.
      await refused(scene.cri.startContainer({ containerId }), { words: /not running|can't find shim/ });
      assert.notEqual((await scene.status(containerId)).state, CONTAINER_RUNNING);
    },
  ],
  [
    'a container whose executable is missing fails to start and is exited with 128 and StartError',
    async (scene) => {
      const containerId = await scene.created(await scene.hostSandbox(), ['no-such-program', 'x']);
      await refused(scene.cri.startContainer({ containerId }), { words: /no-such-program/ });
      const status = await scene.status(containerId);
      assert.deepEqual([status.state, status.exitCode, status.reason], [CONTAINER_EXITED, 128, 'StartError']);
      assert.match(status.message, /no-such-program/);
      assert.notEqual(status.finishedAt, 0);
    },
  ],
  [
    'the status of a container returns its metadata, labels and annotations unchanged',
    async (scene) => {
      const sandbox = await scene.hostSandbox();
      const labels = { 'io.kubernetes.container.name': 'main', empty: '' };
      const annotations = { 'io.kubernetes.container.hash': 'ab12', text: 'one\n"two"' };
      const metadata = { name: 'labelled', attempt: 4 };
      const id = await scene.created(sandbox, ['true'], { labels, annotations, metadata });
      const [listed] = (await scene.cri.listContainers({ filter: { id } })).containers;
      for (const shown of [await scene.status(id), listed]) {
        assert.deepEqual({ ...shown?.labels }, labels);
        assert.deepEqual({ ...shown?.annotations }, annotations);
        assert.deepEqual([shown?.metadata?.name, shown?.metadata?.attempt], ['labelled', 4]);
      }
      assert.equal(listed?.podSandboxId, sandbox.id);
    },
  ],
  [
    'the status of a container contains its mounts and log path',
    async (scene) => {
      const sandbox = await scene.hostSandbox();
      const hostPath = `${sandbox.logDirectory}/data`;
      await scene.options.fs.mkdir(hostPath);
      const mounts = [{ containerPath: '/data', hostPath, readonly: true }];
      const status = await scene.status(await scene.created(sandbox, ['true'], { mounts, logPath: 'sub.log' }));
      assert.deepEqual(
        status.mounts.map((mount) => [mount.containerPath, mount.hostPath, mount.readonly]),
        [['/data', hostPath, true]],
      );
      assert.equal(status.logPath, `${sandbox.logDirectory}/sub.log`);
    },
  ],
  [
    'the status of a container names the image by its tag, and its imageRef is a digest or id',
    async (scene) => {
      const { image } = await scene.cri.imageStatus({ image: { image: scene.options.image } });
      const status = await scene.status(await scene.created(await scene.hostSandbox(), ['true']));
      assert.ok(
        image?.repoTags.includes(status.image?.image ?? ''),
        `${status.image?.image} must be a tag of the image`,
      );
      assert.ok([image?.id, ...(image?.repoDigests ?? [])].includes(status.imageRef), status.imageRef);
    },
  ],
  [
    'a container can be created from an image id',
    async (scene) => {
      const { image } = await scene.cri.imageStatus({ image: { image: scene.options.image } });
      const status = await scene.status(
        await scene.created(await scene.hostSandbox(), ['true'], { image: { image: image?.id ?? '' } }),
      );
      assert.ok(image?.repoTags.includes(status.image?.image ?? ''));
    },
  ],
  [
    'ListContainers filters by id, sandbox and state',
    async (scene) => {
      const [one, two] = [await scene.hostSandbox(), await scene.hostSandbox()];
      const running = await scene.shell(one, 'sleep 1000');
      const created = await scene.created(one, ['true']);
      const other = await scene.created(two, ['true']);
      const ids = async (filter: Parameters<typeof scene.cri.listContainers>[0]['filter']): Promise<string[]> =>
        (await scene.cri.listContainers({ filter: filter ?? null })).containers.map((it) => it.id).sort();
      assert.deepEqual(await ids({ id: created }), [created]);
      assert.deepEqual(await ids({ podSandboxId: one.id }), [running, created].sort());
      assert.deepEqual(await ids({ podSandboxId: one.id, state: { state: CONTAINER_RUNNING } }), [running]);
      assert.deepEqual(await ids({ podSandboxId: two.id, state: { state: CONTAINER_CREATED } }), [other]);
      assert.deepEqual(await ids({ podSandboxId: 'f'.repeat(64) }), []);
      assert.ok((await ids({})).includes(running) && (await ids({})).includes(other));
    },
  ],
  [
    'ListContainers with several labels returns only containers that have all of them',
    async (scene) => {
      const sandbox = await scene.hostSandbox();
      const id = await scene.created(sandbox, ['true'], { labels: { a: '1', b: '2' } });
      await scene.created(sandbox, ['true'], { labels: { a: '1' } });
      const list = async (labelSelector: Record<string, string>): Promise<string[]> =>
        (await scene.cri.listContainers({ filter: { podSandboxId: sandbox.id, labelSelector } })).containers.map(
          (it) => it.id,
        );
      assert.deepEqual(await list({ a: '1', b: '2' }), [id]);
      assert.equal((await list({ a: '1' })).length, 2);
      assert.deepEqual(await list({ a: '1', c: '3' }), []);
    },
  ],
  [
    'ContainerStatus of a container that never existed returns NOT_FOUND',
    async (scene) => {
      await refused(scene.cri.containerStatus({ containerId: 'f'.repeat(64) }), { code: 'NOT_FOUND' });
    },
  ],
  [
    'a container is found by a prefix of its id',
    async (scene) => {
      const id = await scene.created(await scene.hostSandbox(), ['true']);
      assert.equal((await scene.status(id.slice(0, 20))).id, id);
    },
  ],
  [
    'a verbose container status contains JSON',
    async (scene) => {
      const containerId = await scene.created(await scene.hostSandbox(), ['true']);
      const { info } = await scene.cri.containerStatus({ containerId, verbose: true });
      const parsed: unknown = JSON.parse(info.info ?? '');
      assert.equal(typeof parsed, 'object');
    },
  ],
  [
    'removing a running container kills it, and removing it again succeeds',
    async (scene) => {
      const containerId = await scene.shell(await scene.hostSandbox(), 'sleep 1000');
      await scene.cri.removeContainer({ containerId });
      await refused(scene.cri.containerStatus({ containerId }), { code: 'NOT_FOUND' });
      await scene.cri.removeContainer({ containerId });
    },
  ],
  [
    'containers of a pod start and stop independently of each other',
    async (scene) => {
      const sandbox = await scene.hostSandbox();
      const long = await scene.shell(sandbox, 'sleep 1000');
      const short = await scene.ran(sandbox, 'exit 1');
      await scene.cri.removeContainer({ containerId: short.id });
      assert.equal((await scene.status(long)).state, CONTAINER_RUNNING);
    },
  ],
  [
    'the streaming list of containers contains the same containers as the list',
    async (scene) => {
      const sandbox = await scene.hostSandbox();
      const id = await scene.created(sandbox, ['true']);
      const messages = await scene.collected('StreamContainers', () =>
        scene.cri.streamContainers({ filter: { podSandboxId: sandbox.id } }),
      );
      assert.deepEqual(
        messages.flatMap((message) => message.containers.map((container) => container.id)),
        [id],
      );
    },
  ],
];
