import { type Random, seededRandom } from '@node-agent/async';
import type { Pod } from '@node-agent/pod-spec';
import { expect, test } from 'vitest';
import { containerId, script } from '../e2e/test-node.ts';
import { PODS, withCluster } from './clusters.ts';
import { PodRecorder } from './pod-recorder.ts';
import { isReady, type TestCluster } from './test-cluster.ts';
import { allGone, allReady, createDeployment, expectOneContainerEach, FOREVER, scale } from './workloads.ts';

/** Time after which a killed process is started again. */
const AWAY_MS = 1_000;

/** Functions that kill and start each process of node and control plane, by the process's name. */
const DEATHS: Readonly<
  Record<string, { kill(it: TestCluster): Promise<void>; start(it: TestCluster): Promise<void> }>
> = {
  'the kubelet': { kill: (it) => it.node.kill('SIGKILL'), start: (it) => it.node.start() },
  containerd: { kill: (it) => it.containerd.killProcess('SIGKILL'), start: (it) => it.containerd.startProcess() },
  'the API server': {
    kill: (it) => it.plane.killProcess('kube-apiserver', 'SIGKILL'),
    start: (it) => it.plane.startProcess('kube-apiserver'),
  },
  etcd: { kill: (it) => it.plane.killProcess('etcd', 'SIGKILL'), start: (it) => it.plane.startProcess('etcd') },
};

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

await withCluster('a one-node cluster whose processes are killed', { subnet: '10.199.68.0/24' }, (cluster) => {
  test.each(Object.entries(DEATHS))(
    'K1, K2, K3: if %s is killed during a deployment, running pods keep running and all other pods start',
    async (name, { kill, start }) => {
      const it = cluster();
      const deployment = name.replaceAll(' ', '-').toLowerCase();
      await createDeployment(it, deployment);
      await scale(it, deployment, PODS);
      const before = await it.until('some pods to run', async () => {
        const running = (await it.running()).filter(({ pod }) => pod.startsWith(deployment));
        return running.length >= Math.ceil(PODS / 4) ? running : undefined;
      });
      await kill(it);
      await pause(AWAY_MS);
      const backMs = performance.now();
      await start(it);
      const pods = await allReady(it, deployment, PODS);
      const tookMs = Math.round(performance.now() - backMs);
      console.log(
        `${name} died with ${before.length} of ${PODS} containers running: all ready ${tookMs} ms after its return`,
      );
      await expectOneContainerEach(it, deployment, pods);
      const ids = new Set((await it.running()).map(({ id }) => id));
      expect(before.filter(({ id }) => !ids.has(id))).toEqual([]);

      // Waits so that a late restart, a second container or a replacement would be noticed.
      await pause(3_000);
      const later = await allReady(it, deployment, PODS);
      expect(idsOf(later)).toEqual(idsOf(pods));

      await scale(it, deployment, 0);
      await it.until('some pods to end', async () => (await it.pods(`app=${deployment}`)).length < PODS || undefined);
      await kill(it);
      await pause(AWAY_MS);
      const endMs = performance.now();
      await start(it);
      await allGone(it, deployment);
      console.log(
        `${name} died while they ended: nothing left ${Math.round(performance.now() - endMs)} ms after its return`,
      );
    },
  );

  test('K1, K2, K3: loses, duplicates or restarts no pod while processes are killed in random order and pods come and go', async () => {
    const it = cluster();
    const seed = Number(process.env.NODE_AGENT_E2E_SEED ?? Math.floor(Math.random() * 2 ** 31));
    const random = seededRandom(seed);
    const below = (limit: number): number => Math.floor(random.next() * limit);
    console.log(`NODE_AGENT_E2E_SEED=${seed}`);
    for (const name of ['stays', 'moves']) await createDeployment(it, name);
    await scale(it, 'stays', 5);
    const before = await allReady(it, 'stays', 5);
    for (let count = 0; count < 8; count++) {
      // The API server may still be busy with its own start.
      await scale(it, 'moves', below(PODS)).catch(() => {});
      await pause(below(1_500));
      const [name, { kill, start }] = pick(Object.entries(DEATHS), random);
      console.log(`${name} dies`);
      await kill(it);
      await pause(below(1_500));
      await start(it);
      await pause(below(1_500));
    }
    const tookMs = await it.timed(async () => {
      await it.until('the scale to be set', () => scale(it, 'moves', PODS).then(() => true));
      await allReady(it, 'moves', PODS);
    });
    console.log(`all ready ${tookMs} ms after the last`);
    await expectOneContainerEach(it, 'moves', await allReady(it, 'moves', PODS));
    const after = await allReady(it, 'stays', 5);
    await expectOneContainerEach(it, 'stays', after);
    expect(idsOf(after)).toEqual(idsOf(before));
    expect(after.map((pod) => restartsOf(pod, 'c'))).toEqual([0, 0, 0, 0, 0]);
    for (const name of ['stays', 'moves']) await scale(it, name, 0);
    for (const name of ['stays', 'moves']) await allGone(it, name);
  });

  test('S6: a watch shows ready pods as Ready during the whole restart of the kubelet', async () => {
    const it = cluster();
    await createDeployment(it, 'steady');
    await scale(it, 'steady', PODS);
    const before = await allReady(it, 'steady', PODS);
    const recorder = await PodRecorder.start(it.plane, 'app=steady');
    for (const signal of ['SIGKILL', 'SIGTERM'] as const) {
      await it.node.kill(signal);
      await it.node.start();
      await it.until('the kubelet to be healthy', async () => ((await it.node.health())?.ok ? true : undefined));
      await pause(5_000);
    }
    recorder.stop();
    const flips = recorder.sights.filter(({ ready, type }) => !ready || type === 'DELETED');
    console.log(`${recorder.sights.length} events of ${PODS} ready pods over two restarts, ${flips.length} not ready`);
    expect(recorder.sights.length).toBeGreaterThanOrEqual(PODS);
    expect(flips).toEqual([]);
    expect(idsOf(await allReady(it, 'steady', PODS))).toEqual(idsOf(before));
    await expectOneContainerEach(it, 'steady', before);
    await scale(it, 'steady', 0);
    await allGone(it, 'steady');
  });

  test('K3: restarts a container while the API server is down, and reports the restart when the API server is back', async () => {
    const it = cluster();
    await it.createPod('alone', { containers: [script('c', FOREVER), script('other', FOREVER)] });
    const pod = await it.readyPod('alone');
    await it.plane.killProcess('kube-apiserver', 'SIGKILL');
    await it.killContainer(containerId(pod, 'c'));
    const tookMs = await it.timed(() =>
      it.until('another container', async () =>
        (await it.running()).some(
          ({ pod: of, name, id }) => of === 'alone' && name === 'c' && id !== containerId(pod, 'c'),
        )
          ? true
          : undefined,
      ),
    );
    // The kubelet is killed, too: it knows the pod only from the API server, which is down.
    await it.node.kill('SIGKILL');
    await it.node.start();
    await pause(5_000);
    const alone = (await it.running()).filter(({ pod: of }) => of === 'alone');
    expect(alone.map(({ name }) => name)).toEqual(['c', 'other']);
    expect(alone[1]?.id).toBe(containerId(pod, 'other'));
    const backMs = performance.now();
    await it.plane.startProcess('kube-apiserver');
    const after = await it.podUntil('alone', (now) => restartsOf(now, 'c') === 1 && isReady(now));
    console.log(
      `restarted ${tookMs} ms after its death; known to the API server ${Math.round(performance.now() - backMs)} ms after its return`,
    );
    expect([containerId(after, 'c'), containerId(after, 'other')]).toEqual([alone[0]?.id, alone[1]?.id]);
    await it.deletePod('alone');
  });

  test('after etcd was wiped, the node joins the new cluster and stops the pods that the cluster does not know', async () => {
    const it = cluster();
    await it.createPod('forgotten', { containers: [script('c', FOREVER)] });
    const { metadata } = await it.readyPod('forgotten');
    const wipeMs = await it.timed(() => it.plane.wipe());
    console.log(`wiped in ${wipeMs} ms`);
    const startedAt = performance.now();
    await it.until('the node to be Ready', async () => (await it.nodeReady()) === 'True' || undefined, 120_000);
    const nodeMs = Math.round(performance.now() - startedAt);
    await it.gone(metadata.uid);
    const goneMs = Math.round(performance.now() - startedAt);
    await it.createPod('new', { containers: [script('c', FOREVER)] });
    console.log(`new ready in ${await it.timed(() => it.readyPod('new'))}`);
    console.log(`after the wipe: node Ready in ${nodeMs} ms, the old pod gone in ${goneMs} ms, a new one ready`);
    await it.deletePod('new');
  });
});

function restartsOf(pod: Pod, name: string): number {
  return pod.status?.containerStatuses?.find((status) => status.name === name)?.restartCount ?? -1;
}

function idsOf(pods: readonly Pod[]): string[] {
  return pods.map((pod) => containerId(pod)).sort();
}

function pick<T>(all: readonly T[], random: Random): T {
  const one = all[Math.floor(random.next() * all.length)];
  if (one === undefined) throw new Error('there is nothing to choose from');
  return one;
}
