import { expect, test } from 'vitest';
import { containerId, script } from '../e2e/test-node.ts';
import { withCluster } from './clusters.ts';
import { isReady, type TestCluster } from './test-cluster.ts';
import { FOREVER } from './workloads.ts';

const spec = (text: string = FOREVER): object => ({ containers: [script('c', text)] });
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

await withCluster('static pods of a node in a cluster', { subnet: '10.199.72.0/24' }, (cluster) => {
  /** Returns the mirror pod of a manifest once the pod is ready. */
  const mirrorOf = (it: TestCluster, name: string) => it.readyPod(`${name}-e2e`);
  const containerOf = async (it: TestCluster, name: string) =>
    (await it.running()).filter(({ pod }) => pod === `${name}-e2e`);

  test("creates a mirror pod for a static pod, owned by the node, with the manifest's hash and the pod's status", async () => {
    const it = cluster();
    await it.node.write({ name: 'seen', spec: spec() });
    const mirror = await mirrorOf(it, 'seen');
    const node = await it.get<{ metadata: { uid: string } }>('/api/v1/nodes/e2e');
    expect(mirror.metadata.ownerReferences).toMatchObject([{ kind: 'Node', name: 'e2e', uid: node?.metadata.uid }]);
    expect(Object.keys(mirror.metadata.annotations ?? {})).toEqual(
      expect.arrayContaining([
        'kubernetes.io/config.hash',
        'kubernetes.io/config.mirror',
        'kubernetes.io/config.source',
      ]),
    );
    const [running] = await containerOf(it, 'seen');
    expect(containerId(mirror)).toBe(running?.id);
    // In the runtime the pod has the manifest's UID; the mirror pod has its own UID.
    expect(running?.uid).toBe(mirror.metadata.annotations?.['kubernetes.io/config.hash']);
    await it.node.remove('seen');
    await it.until('the mirror pod to be gone', async () => (await it.pod('seen-e2e')) === undefined || undefined);
    expect(await containerOf(it, 'seen')).toEqual([]);
  });

  test('F3: recreates a deleted mirror pod without restarting the static pod', async () => {
    const it = cluster();
    await it.node.write({ name: 'kept', spec: spec() });
    const before = await mirrorOf(it, 'kept');
    for (const how of [[], ['--force', '--grace-period=0']]) {
      const { metadata } = await mirrorOf(it, 'kept');
      await it.plane.kubectl(['delete', 'pod', 'kept-e2e', '--wait=false', ...how]);
      const tookMs = await it.timed(() =>
        it.podUntil('kept-e2e', (now) => now.metadata.uid !== metadata.uid && isReady(now)),
      );
      console.log(`the mirror pod was there again ${tookMs} ms after delete ${how.join(' ')}`);
    }
    const after = await mirrorOf(it, 'kept');
    expect(containerId(after)).toBe(containerId(before));
    expect(await containerOf(it, 'kept')).toHaveLength(1);
    await it.node.remove('kept');
  });

  test('creates a new mirror pod for an edited manifest and never updates the old one', async () => {
    const it = cluster();
    await it.node.write({ name: 'edited', spec: spec() });
    const before = await mirrorOf(it, 'edited');
    await it.node.write({ name: 'edited', spec: spec(`echo two; ${FOREVER}`) });
    const after = await it.podUntil(
      'edited-e2e',
      (now) => now.metadata.uid !== before.metadata.uid && isReady(now) && containerId(now) !== containerId(before),
    );
    const hash = 'kubernetes.io/config.hash';
    expect(after.metadata.annotations?.[hash]).not.toBe(before.metadata.annotations?.[hash]);
    expect((await containerOf(it, 'edited')).map(({ id }) => id)).toEqual([containerId(after)]);
    await it.node.remove('edited');
    await it.until('the mirror pod to be gone', async () => (await it.pod('edited-e2e')) === undefined || undefined);
  });

  test('F4: static pods start without an API server, survive a kill of the kubelet, and get mirror pods later', async () => {
    const it = cluster();
    await it.plane.killProcess('kube-apiserver', 'SIGKILL');
    await it.node.write({ name: 'dark', spec: spec() });
    const [first] = await it.until('it to run', async () => {
      const found = await containerOf(it, 'dark');
      return found.length === 1 ? found : undefined;
    });
    await it.node.kill('SIGKILL');
    await it.node.start();
    await it.node.write({ name: 'darker', spec: spec() });
    await it.until('another to run', async () => (await containerOf(it, 'darker')).length === 1 || undefined);
    expect(await containerOf(it, 'dark')).toEqual([first]);
    const startedAt = performance.now();
    await it.plane.startProcess('kube-apiserver');
    const mirror = await mirrorOf(it, 'dark');
    await mirrorOf(it, 'darker');
    console.log(`both are seen ${Math.round(performance.now() - startedAt)} ms after the API server's return`);
    expect(containerId(mirror)).toBe(first?.id);
    for (const name of ['dark', 'darker']) await it.node.remove(name);
  });

  test('F4: after etcd was wiped, the static pod keeps running and gets a mirror pod in the new cluster', async () => {
    const it = cluster();
    await it.node.write({ name: 'lasting', spec: spec() });
    const before = await mirrorOf(it, 'lasting');
    await it.plane.wipe();
    const tookMs = await it.timed(() =>
      it.podUntil('lasting-e2e', (now) => now.metadata.uid !== before.metadata.uid && isReady(now), 120_000),
    );
    console.log(`the mirror pod was there ${tookMs} ms after the wipe`);
    expect(containerId(await mirrorOf(it, 'lasting'))).toBe(containerId(before));
    await pause(2_000);
    expect(await containerOf(it, 'lasting')).toHaveLength(1);
    await it.node.remove('lasting');
  });
});
