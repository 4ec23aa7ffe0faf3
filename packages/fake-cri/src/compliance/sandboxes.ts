import assert from 'node:assert/strict';
import { ContainerState, CriError, NamespaceMode, PodSandboxState } from '@node-agent/cri-client';
import { type Examination, refused } from './scene.ts';

const READY = PodSandboxState.SANDBOX_READY;
const NOTREADY = PodSandboxState.SANDBOX_NOTREADY;

/** Compliance cases for pod sandboxes. */
export const sandboxExaminations: readonly Examination[] = [
  [
    'a sandbox is ready when RunPodSandbox returns',
    async (scene) => {
      const before = scene.options.now();
      const sandbox = await scene.sandbox();
      const status = await scene.sandboxStatus(sandbox.id);
      assert.equal(status.id, sandbox.id);
      assert.equal(status.state, READY);
      assert.ok(
        Math.abs(status.createdAt / 1e6 - before) < 10_000,
        'createdAt is close to the current time, in nanoseconds',
      );
    },
  ],
  [
    'the status of a sandbox returns its metadata, labels and annotations unchanged',
    async (scene) => {
      const labels = { 'io.kubernetes.pod.uid': 'u-1', empty: '', 'a/b': 'c.d-e_f' };
      const annotations = { json: '{"a":[1,"ü"]}', 'line/break': 'one\ntwo' };
      const sandbox = await scene.sandbox({ labels, annotations });
      const status = await scene.sandboxStatus(sandbox.id);
      const [listed] = (await scene.cri.listPodSandbox({ filter: { id: sandbox.id } })).items;
      for (const shown of [status, listed]) {
        assert.deepEqual({ ...shown?.labels }, labels);
        assert.deepEqual({ ...shown?.annotations }, annotations);
        assert.equal(shown?.metadata?.uid, sandbox.config.metadata?.uid);
        assert.equal(shown?.metadata?.namespace, 'compliance');
        assert.equal(shown?.metadata?.name, 'pod');
        assert.equal(shown?.metadata?.attempt, 0);
      }
    },
  ],
  [
    'ListPodSandbox and PodSandboxStatus report the same state and creation time',
    async (scene) => {
      const sandbox = await scene.hostSandbox();
      const status = await scene.sandboxStatus(sandbox.id);
      const [listed] = (await scene.cri.listPodSandbox({ filter: { id: sandbox.id } })).items;
      assert.equal(listed?.state, status.state);
      assert.equal(listed?.createdAt, status.createdAt);
    },
  ],
  [
    'each sandbox has its own IP',
    async (scene) => {
      const first = await scene.sandboxStatus((await scene.sandbox()).id);
      const second = await scene.sandboxStatus((await scene.sandbox()).id);
      assert.match(first.network?.ip ?? '', /^\d+\.\d+\.\d+\.\d+$/);
      assert.match(second.network?.ip ?? '', /^\d+\.\d+\.\d+\.\d+$/);
      assert.notEqual(first.network?.ip, second.network?.ip);
    },
  ],
  [
    'a sandbox on the host network has no IP, and its namespace options report the host network',
    async (scene) => {
      const status = await scene.sandboxStatus((await scene.hostSandbox()).id);
      assert.equal(status.network?.ip ?? '', '');
      assert.equal(status.linux?.namespaces?.options?.network, NamespaceMode.NODE);
    },
  ],
  [
    'a stopped sandbox has no IP',
    async (scene) => {
      const sandbox = await scene.sandbox();
      await scene.cri.stopPodSandbox({ podSandboxId: sandbox.id });
      assert.equal((await scene.sandboxStatus(sandbox.id)).network?.ip ?? '', '');
    },
  ],
  [
    'a second sandbox of the same pod and attempt is rejected, and the next attempt is accepted',
    async (scene) => {
      const { config } = await scene.hostSandbox();
      await refused(scene.cri.runPodSandbox({ config }), { words: /reserve/ });
      await scene.runSandbox({ ...config, metadata: { ...config.metadata, attempt: 1 } });
    },
  ],
  [
    'a stopped sandbox keeps its name reserved, and a removed sandbox releases it',
    async (scene) => {
      const { id, config } = await scene.hostSandbox();
      await scene.cri.stopPodSandbox({ podSandboxId: id });
      await refused(scene.cri.runPodSandbox({ config }), { words: /reserve/ });
      await scene.cri.removePodSandbox({ podSandboxId: id });
      assert.notEqual((await scene.runSandbox(config)).id, id);
    },
  ],
  [
    'a stopped sandbox is not ready, and stopping it again succeeds',
    async (scene) => {
      const { id } = await scene.sandbox();
      await scene.cri.stopPodSandbox({ podSandboxId: id });
      assert.equal((await scene.sandboxStatus(id)).state, NOTREADY);
      await scene.cri.stopPodSandbox({ podSandboxId: id });
      assert.equal((await scene.sandboxStatus(id)).state, NOTREADY);
    },
  ],
  [
    'a removed sandbox is unknown, and removing it again succeeds',
    async (scene) => {
      const { id } = await scene.hostSandbox();
      await scene.cri.stopPodSandbox({ podSandboxId: id });
      await scene.cri.removePodSandbox({ podSandboxId: id });
      await refused(scene.cri.podSandboxStatus({ podSandboxId: id }), { code: 'NOT_FOUND' });
      assert.deepEqual((await scene.cri.listPodSandbox({ filter: { id } })).items, []);
      await scene.cri.removePodSandbox({ podSandboxId: id });
    },
  ],
  [
    'stopping a sandbox that never existed succeeds',
    async (scene) => {
      try {
        await scene.cri.stopPodSandbox({ podSandboxId: 'f'.repeat(64) });
      } catch (error) {
        if (CriError.from(error).code !== 'NOT_FOUND') throw error;
        scene.skip('the runtime returns NOT_FOUND, as containerd before 1.7 does');
      }
    },
  ],
  [
    'removing a sandbox that never existed succeeds',
    async (scene) => {
      await scene.cri.removePodSandbox({ podSandboxId: 'f'.repeat(64) });
    },
  ],
  [
    'PodSandboxStatus of a sandbox that never existed returns NOT_FOUND',
    async (scene) => {
      await refused(scene.cri.podSandboxStatus({ podSandboxId: 'f'.repeat(64) }), { code: 'NOT_FOUND' });
    },
  ],
  [
    'stopping a sandbox kills its containers',
    async (scene) => {
      const sandbox = await scene.hostSandbox();
      const containerId = await scene.shell(sandbox, 'sleep 1000');
      await scene.cri.stopPodSandbox({ podSandboxId: sandbox.id });
      const status = await scene.status(containerId);
      assert.equal(status.state, ContainerState.CONTAINER_EXITED);
      assert.equal(status.exitCode, 137);
    },
  ],
  [
    'removing a running sandbox removes it and its containers',
    async (scene) => {
      const sandbox = await scene.sandbox();
      const containerId = await scene.shell(sandbox, 'sleep 1000');
      await scene.cri.removePodSandbox({ podSandboxId: sandbox.id });
      await refused(scene.cri.containerStatus({ containerId }), { code: 'NOT_FOUND' });
      await refused(scene.cri.podSandboxStatus({ podSandboxId: sandbox.id }), { code: 'NOT_FOUND' });
    },
  ],
  [
    'creating a sandbox without metadata is rejected',
    async (scene) => {
      await refused(scene.cri.runPodSandbox({ config: { hostname: 'x' } }), { words: /metadata/ });
    },
  ],
  [
    'creating a sandbox with an unknown runtime handler is rejected and does not reserve the name',
    async (scene) => {
      const config = await scene.sandboxConfig();
      await refused(scene.cri.runPodSandbox({ config, runtimeHandler: 'no-such-handler' }), {
        words: /no-such-handler/,
      });
      await scene.runSandbox(config);
    },
  ],
  [
    'creating a sandbox on the host network with its own host name is rejected',
    async (scene) => {
      await refused(scene.hostSandbox({ hostname: 'other' }), { words: /hostname/ });
    },
  ],
  [
    'ListPodSandbox filters by state',
    async (scene) => {
      const ready = await scene.hostSandbox();
      const stopped = await scene.hostSandbox();
      await scene.cri.stopPodSandbox({ podSandboxId: stopped.id });
      const ids = async (state: PodSandboxState): Promise<string[]> =>
        (await scene.cri.listPodSandbox({ filter: { state: { state } } })).items.map((item) => item.id);
      assert.ok((await ids(READY)).includes(ready.id));
      assert.ok(!(await ids(READY)).includes(stopped.id));
      assert.deepEqual((await ids(NOTREADY)).includes(stopped.id), true);
      assert.deepEqual((await ids(NOTREADY)).includes(ready.id), false);
    },
  ],
  [
    'ListPodSandbox with several labels returns only sandboxes that have all of them',
    async (scene) => {
      const both = await scene.hostSandbox();
      const labelled = await scene.hostSandbox({ labels: { group: 'one', extra: 'yes' } });
      const ids = async (labelSelector: Record<string, string>): Promise<string[]> =>
        (await scene.cri.listPodSandbox({ filter: { labelSelector } })).items.map((item) => item.id);
      assert.deepEqual(await ids({ group: 'one', extra: 'yes' }), [labelled.id]);
      assert.deepEqual(await ids({ group: 'one', extra: 'no' }), []);
      assert.ok(!(await ids({ group: 'one' })).includes(both.id));
    },
  ],
  [
    'a sandbox is found by a prefix of its id',
    async (scene) => {
      const { id } = await scene.hostSandbox();
      assert.equal((await scene.sandboxStatus(id.slice(0, 20))).id, id);
      assert.deepEqual(
        (await scene.cri.listPodSandbox({ filter: { id: id.slice(0, 20) } })).items.map((item) => item.id),
        [id],
      );
    },
  ],
  [
    'a verbose sandbox status contains JSON, and a plain one has no info',
    async (scene) => {
      const { id } = await scene.hostSandbox();
      const verbose = await scene.cri.podSandboxStatus({ podSandboxId: id, verbose: true });
      const info: unknown = JSON.parse(verbose.info.info ?? '');
      assert.equal(typeof info, 'object');
    },
  ],
  [
    'a verbose sandbox status names the sandbox image',
    async (scene) => {
      const { id } = await scene.hostSandbox();
      const { info } = await scene.cri.podSandboxStatus({ podSandboxId: id, verbose: true });
      const { image } = JSON.parse(info.info ?? '{}') as { readonly image?: unknown };
      assert.ok(typeof image === 'string');
      assert.notEqual((await scene.cri.imageStatus({ image: { image } })).image, null);
    },
  ],
  [
    'the resources of a sandbox can be updated',
    async (scene) => {
      const { id } = await scene.hostSandbox();
      await scene.supported('UpdatePodSandboxResources', () =>
        scene.cri.updatePodSandboxResources({ podSandboxId: id, resources: { cpuShares: 100 } }),
      );
      const { info } = await scene.cri.podSandboxStatus({ podSandboxId: id, verbose: true });
      assert.match(info.info ?? '', /"(?:cpu_shares|cpuShares)":\s*100/);
    },
  ],
  [
    'the streaming list of sandboxes contains the same sandboxes as the list',
    async (scene) => {
      const { id } = await scene.hostSandbox();
      const messages = await scene.collected('StreamPodSandboxes', () =>
        scene.cri.streamPodSandboxes({ filter: { id } }),
      );
      assert.deepEqual(
        messages.flatMap((message) => message.podSandboxes.map((sandbox) => sandbox.id)),
        [id],
      );
    },
  ],
];
