import { resources } from '@node-agent/kube-client';
import type { Pod } from '@node-agent/pod-spec';
import { describe, expect, it } from 'vitest';
import { boundPod, makeCluster, seconds } from './cluster-world.ts';
import { ids, makePod } from './node.ts';

describe('node of a cluster', () => {
  it('the kubelet registers its Node object, becomes ready, and renews its lease', async () => {
    const { clock, client, start } = await makeCluster();
    const { stop } = start();
    await seconds(clock, 15);
    const node = await client.get(resources.nodes, { name: 'n1' });
    const ready = node.status?.conditions?.find(({ type }) => type === 'Ready');
    expect(ready).toMatchObject({ status: 'True', reason: 'KubeletReady' });
    expect(node.status?.addresses).toContainEqual({ type: 'InternalIP', address: '192.0.2.1' });
    const lease = await client.get(resources.leases, { name: 'n1', namespace: 'kube-node-lease' });
    expect(lease.spec?.holderIdentity).toBe('n1');
    await stop();
  });

  it('S5: runs a pod that is bound to the node, reports its status, and deletes its object after the pod terminated', async () => {
    const { clock, api, client, cri, start } = await makeCluster();
    const { stop } = start();
    await seconds(clock, 2);
    await client.create(resources.pods, boundPod('web'));
    await seconds(clock, 3);
    const running = await client.get(resources.pods, { namespace: 'default', name: 'web' });
    expect(running.status).toMatchObject({ phase: 'Running', hostIP: '192.0.2.1' });
    expect(await ids(cri)).toHaveLength(1);

    await client.delete(resources.pods, { namespace: 'default', name: 'web' });
    await seconds(clock, 4);
    expect(api.objects('pods')).toEqual([]);
    expect(cri.liveContainers()).toEqual([]);
    await stop();
  });

  it('W3: rejects API objects that are not valid pods with an event, and runs the other pods', async () => {
    const { clock, api, client, cri, start } = await makeCluster();
    const { kubelet, stop } = start();
    await seconds(clock, 2);
    const metadata = (name: string) => ({ name, namespace: 'default', uid: `${name}-u` });
    const containers = [{ name: '../../outside', image: 'busybox' }];
    api.put({ apiVersion: 'v1', kind: 'Pod', metadata: metadata('empty'), spec: { nodeName: 'n1' } });
    api.put({ apiVersion: 'v1', kind: 'Pod', metadata: metadata('outside'), spec: { nodeName: 'n1', containers } });
    await seconds(clock, 1);
    await client.create(resources.pods, boundPod('web'));
    await seconds(clock, 3);
    const running = await client.get(resources.pods, { namespace: 'default', name: 'web' });
    expect(running.status).toMatchObject({ phase: 'Running' });
    expect(cri.liveContainers()).toHaveLength(1);
    expect(kubelet.getPods().map((pod) => pod.metadata.name)).toEqual(['web']);
    expect(kubelet.health().syncloop).toBeUndefined();
    await stop();
  });

  it('N1: rejects pods that do not fit or whose node selector does not match, with the reason', async () => {
    const { clock, client, cri, start } = await makeCluster();
    const { stop } = start();
    await seconds(clock, 2);
    const { containers } = boundPod('').spec;
    const needing = (cpu: string): Partial<Pod['spec']> => ({
      containers: containers.map((container) => ({ ...container, resources: { requests: { cpu } } })),
    });
    await client.create(resources.pods, boundPod('first', needing('1500m')));
    await seconds(clock, 1);
    await client.create(resources.pods, boundPod('second', needing('1')));
    await client.create(resources.pods, boundPod('elsewhere', { nodeSelector: { zone: 'b' } }));
    await seconds(clock, 2);
    const statusOf = async (name: string) => (await client.get(resources.pods, { namespace: 'default', name })).status;
    expect(await statusOf('first')).toMatchObject({ phase: 'Running' });
    expect(await statusOf('second')).toMatchObject({
      phase: 'Failed',
      reason: 'OutOfcpu',
      message: expect.stringContaining('requested: 1000, used: 1500, capacity: 2000'),
    });
    expect(await statusOf('elsewhere')).toMatchObject({ phase: 'Failed', reason: 'NodeAffinity' });
    expect(cri.liveContainers()).toHaveLength(1);

    // The first pod terminates and no longer holds resources.
    await client.delete(resources.pods, { namespace: 'default', name: 'first' });
    await seconds(clock, 4);
    await client.create(resources.pods, boundPod('third', needing('2')));
    await seconds(clock, 2);
    expect(await statusOf('third')).toMatchObject({ phase: 'Running' });
    await stop();
  });

  it("runs a pod with the handler of its RuntimeClass and the handler's features", async () => {
    const { clock, api, client, cri, start } = await makeCluster();
    const { stop } = start();
    await seconds(clock, 2);
    api.put({ apiVersion: 'node.k8s.io/v1', kind: 'RuntimeClass', metadata: { name: 'mine' }, handler: 'runc' });
    api.put({ apiVersion: 'node.k8s.io/v1', kind: 'RuntimeClass', metadata: { name: 'none' }, handler: 'nobodys' });
    const volumeMounts = [{ name: 'v', mountPath: '/v', readOnly: true, recursiveReadOnly: 'IfPossible' }];
    const containers = boundPod('').spec.containers.map((container) => ({ ...container, volumeMounts }));
    const volumes = [{ name: 'v', emptyDir: {} }];
    await client.create(resources.pods, boundPod('classed', { runtimeClassName: 'mine', containers, volumes }));
    await client.create(resources.pods, boundPod('other', { runtimeClassName: 'none' }));
    await seconds(clock, 3);
    const { items } = await cri.listPodSandbox({});
    expect(items.map(({ metadata, runtimeHandler }) => [metadata?.name, runtimeHandler])).toEqual([
      ['classed', 'runc'],
    ]);
    const statusOf = async (name: string) => (await client.get(resources.pods, { namespace: 'default', name })).status;
    const classed = await statusOf('classed');
    expect(classed?.containerStatuses?.[0]?.volumeMounts?.[0]?.recursiveReadOnly).toBe('Enabled');
    const [container] = cri.liveContainers();
    const { status } = await cri.containerStatus({ containerId: container?.id ?? '' });
    expect(status?.mounts.find(({ containerPath }) => containerPath === '/v')?.recursiveReadOnly).toBe(true);
    expect((await statusOf('other'))?.phase).toBe('Pending');
    await stop();
  });

  it('N1: reads the Node object again before it rejects a pod for a label that was just added', async () => {
    const { clock, api, client, start } = await makeCluster();
    const { stop } = start();
    await seconds(clock, 2);
    // The watch of the Node object is interrupted and cannot be re-established, so only a read shows the new label.
    for (const verb of ['list', 'watch'] as const) {
      api.faults.add({ verb, resource: 'nodes', times: 1000, fault: { kind: 'refuse' } });
    }
    api.endWatches('cut');
    await seconds(clock, 1);
    await client.patch(
      resources.nodes,
      { type: 'merge', body: { metadata: { labels: { zone: 'b' } } } },
      { name: 'n1' },
    );
    await client.create(resources.pods, boundPod('web', { nodeSelector: { zone: 'b' } }));
    await seconds(clock, 4);
    const pod = await client.get(resources.pods, { namespace: 'default', name: 'web' });
    expect(pod.status).toMatchObject({ phase: 'Running' });
    await stop();
  });

  it('F3: shows a static pod by a mirror pod with its status, and recreates a deleted mirror pod', async () => {
    const { clock, client, start } = await makeCluster();
    const { setPods, stop } = start();
    const pod = makePod('etcd', { nodeName: 'n1' });
    const annotations = { ...pod.metadata.annotations, 'kubernetes.io/config.hash': 'h1' };
    const mirror = { namespace: 'default', name: 'etcd' };
    setPods([{ ...pod, metadata: { ...pod.metadata, annotations } }]);
    await seconds(clock, 5);
    const first = await client.get(resources.pods, mirror);
    expect(first.metadata.annotations?.['kubernetes.io/config.mirror']).toBe('h1');
    expect(first.status).toMatchObject({ phase: 'Running' });

    await client.delete(resources.pods, mirror);
    await seconds(clock, 3);
    const second = await client.get(resources.pods, mirror);
    expect(second.metadata.uid).not.toBe(first.metadata.uid);
    expect(second.status).toMatchObject({ phase: 'Running', startTime: first.status?.startTime });
    expect(second.status?.containerStatuses?.[0]?.restartCount).toBe(0);

    setPods([]);
    await seconds(clock, 8);
    await expect(client.get(resources.pods, mirror)).rejects.toMatchObject({ code: 'NotFound' });
    await stop();
  });

  it('S6: does not show a static pod with a startup probe as not ready after a kubelet restart', async () => {
    const { clock, api, client, start } = await makeCluster();
    const [main] = makePod('api').spec.containers;
    const exec = { command: ['true'] };
    const container = { startupProbe: { exec, periodSeconds: 20 }, readinessProbe: { exec, periodSeconds: 30 } };
    const pod = makePod('api', { nodeName: 'n1', containers: [{ name: 'main', ...main, ...container }] });
    const annotations = { ...pod.metadata.annotations, 'kubernetes.io/config.hash': 'h1' };
    const withHash = { ...pod, metadata: { ...pod.metadata, annotations } };
    const isReady = async (): Promise<string | undefined> => {
      const { status } = await client.get(resources.pods, { namespace: 'default', name: 'api' });
      return status?.conditions?.find(({ type }) => type === 'Ready')?.status;
    };
    for (const away of [false, true]) {
      const { setPods, stop } = start();
      setPods([withHash]);
      await seconds(clock, 60);
      expect(await isReady()).toBe('True');
      await stop();
      if (away) api.refuseConnections();
      const next = start();
      next.setPods([withHash]);
      await seconds(clock, 3);
      api.acceptConnections();
      for (let i = 0; i < 40; i++) {
        await seconds(clock, 1);
        expect(await isReady()).toBe('True');
      }
      await next.stop();
    }
  });

  it('F4, K3: restarts a run-once static pod when its manifest returns, while the API server is unavailable and shows the first instance', async () => {
    const { clock, api, cri, start } = await makeCluster();
    const pod = makePod('once', { nodeName: 'n1', restartPolicy: 'Never' });
    const annotations = { ...pod.metadata.annotations, 'kubernetes.io/config.hash': 'h1' };
    const once = { ...pod, metadata: { ...pod.metadata, annotations } };
    const { setPods, stop } = start();
    setPods([once]);
    await seconds(clock, 5);
    expect(cri.liveContainers()).toHaveLength(1);
    api.refuseConnections();
    setPods([]);
    await seconds(clock, 120);
    expect(cri.liveContainers()).toHaveLength(0);
    setPods([once]);
    await seconds(clock, 10);
    expect(cri.liveContainers()).toHaveLength(1);
    await stop();
  });

  it.each([5, 120])(
    'P3: the active deadline of a static pod starts anew when its manifest returns after an absence of %i s',
    async (goneFor) => {
      const { clock, client, cri, start } = await makeCluster();
      const pod = makePod('short', { nodeName: 'n1', activeDeadlineSeconds: 60 });
      const annotations = { ...pod.metadata.annotations, 'kubernetes.io/config.hash': 'h1' };
      const short = { ...pod, metadata: { ...pod.metadata, annotations } };
      const { setPods, stop } = start();
      setPods([short]);
      await seconds(clock, 40);
      setPods([]);
      await seconds(clock, goneFor);
      const again = new Date(clock.now());
      setPods([short]);
      await seconds(clock, 40);
      expect(cri.liveContainers()).toHaveLength(1);
      const { status } = await client.get(resources.pods, { namespace: 'default', name: 'short' });
      expect(status?.phase).toBe('Running');
      expect(Date.parse(status?.startTime ?? '')).toBeGreaterThanOrEqual(again.getTime());
      await seconds(clock, 40);
      expect(cri.liveContainers()).toHaveLength(0);
      await stop();
    },
  );

  it('F3: replaces the mirror pod of a static pod that had succeeded and runs again after a reboot', async () => {
    const { clock, api, client, cri, start } = await makeCluster();
    const pod = makePod('once', { nodeName: 'n1', restartPolicy: 'Never' });
    const annotations = { ...pod.metadata.annotations, 'kubernetes.io/config.hash': 'h1' };
    const once = { ...pod, metadata: { ...pod.metadata, annotations } };
    const mirror = { namespace: 'default', name: 'once' };
    const first = start();
    first.setPods([once]);
    await seconds(clock, 5);
    cri.killContainer((await ids(cri))[0] ?? '', { exitCode: 0 });
    await seconds(clock, 5);
    const before = await client.get(resources.pods, mirror);
    expect(before.status).toMatchObject({ phase: 'Succeeded' });
    await first.stop();

    // The machine was rebooted, and its runtime is empty.
    for (const { id } of (await cri.listPodSandbox({})).items) await cri.removePodSandbox({ podSandboxId: id });
    const second = start();
    second.setPods([once]);
    await seconds(clock, 15);
    const after = await client.get(resources.pods, mirror);
    expect(cri.liveContainers()).toHaveLength(1);
    expect(after.metadata.uid).not.toBe(before.metadata.uid);
    expect(after.status).toMatchObject({ phase: 'Running' });
    const refused: string[] = [];
    api.onRequest(({ status }) => {
      if (status === 422) refused.push('refused');
    });
    await seconds(clock, 30);
    expect(refused).toEqual([]);
    expect((await client.get(resources.pods, mirror)).metadata.uid).toBe(after.metadata.uid);
    await second.stop();
  });

  it('K3: keeps pods running while the API server is unavailable, and reports all changes afterwards', async () => {
    const { clock, api, client, cri, start } = await makeCluster();
    const { stop } = start();
    await seconds(clock, 2);
    await client.create(resources.pods, boundPod('web'));
    await seconds(clock, 3);
    api.refuseConnections();
    const [first] = await ids(cri);
    cri.killContainer(first ?? '');
    await seconds(clock, 60);
    expect(cri.liveContainers()).toHaveLength(1);
    api.acceptConnections();
    await seconds(clock, 40);
    const pod = await client.get(resources.pods, { namespace: 'default', name: 'web' });
    expect(pod.status?.containerStatuses?.[0]?.restartCount).toBe(1);
    await stop();
  });

  it('K3: the node recovers within seconds after an hour without the API server', async () => {
    const { clock, api, client, cri, start } = await makeCluster();
    const { stop } = start();
    await seconds(clock, 2);
    await client.create(resources.pods, boundPod('stays'));
    await seconds(clock, 2);
    const [before] = await ids(cri);
    await client.create(resources.pods, boundPod('goes'));
    await seconds(clock, 2);
    api.refuseConnections();
    for (let minute = 0; minute < 60; minute++) await clock.advance(60_000);
    expect(cri.liveContainers()).toHaveLength(2);
    // The watch does not deliver the changes of that hour as events, so everything is listed again.
    api.acceptConnections();
    await client.delete(resources.pods, { namespace: 'default', name: 'goes' });
    await client.create(resources.pods, boundPod('comes'));
    await seconds(clock, 12);
    const { items } = await client.list(resources.pods, { namespace: 'default' });
    expect(items.map(({ metadata }) => metadata.name).sort()).toEqual(['comes', 'stays']);
    const comes = await client.get(resources.pods, { namespace: 'default', name: 'comes' });
    expect(comes.status).toMatchObject({ phase: 'Running' });
    expect(await ids(cri)).toContain(before);
    const node = await client.get(resources.nodes, { name: 'n1' });
    const ready = node.status?.conditions?.find(({ type }) => type === 'Ready');
    expect(ready?.status).toBe('True');
    expect(clock.now() - Date.parse(String(ready?.lastHeartbeatTime))).toBeLessThan(15_000);
    await stop();
  });

  it('the kubelet registers its Node object again after a deletion, while its pods keep running', async () => {
    const { clock, client, cri, start } = await makeCluster();
    const { stop } = start();
    await seconds(clock, 2);
    await client.create(resources.pods, boundPod('web'));
    await seconds(clock, 10);
    const containers = await ids(cri);
    const first = await client.get(resources.nodes, { name: 'n1' });
    await client.delete(resources.nodes, { name: 'n1' });
    await seconds(clock, 15);
    const second = await client.get(resources.nodes, { name: 'n1' });
    expect(second.metadata.uid).not.toBe(first.metadata.uid);
    expect(second.status?.conditions).toContainEqual(expect.objectContaining({ type: 'Ready', status: 'True' }));
    expect(await ids(cri)).toEqual(containers);
    expect(cri.liveContainers()).toHaveLength(1);
    await stop();
  });

  it('starts a container once the Secret of its environment exists', async () => {
    const { clock, api, client, cri, start } = await makeCluster();
    const { stop } = start();
    await seconds(clock, 2);
    const container = {
      name: 'main',
      image: 'busybox',
      imagePullPolicy: 'Never',
      command: ['sleep', 'infinity'],
      env: [{ name: 'PASSWORD', valueFrom: { secretKeyRef: { name: 'db', key: 'password' } } }],
    };
    await client.create(resources.pods, boundPod('web', { containers: [container] }));
    await seconds(clock, 3);
    const waiting = await client.get(resources.pods, { namespace: 'default', name: 'web' });
    expect(waiting.status?.containerStatuses?.[0]?.state?.waiting).toMatchObject({
      reason: 'CreateContainerConfigError',
      message: 'secret "db" not found',
    });
    api.put({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { namespace: 'default', name: 'db' },
      data: { password: 'aHVudGVyMg==' },
    });
    await seconds(clock, 1);
    expect(cri.liveContainers()).toHaveLength(1);
    await stop();
  });

  it('starts a pod as soon as the Secret of its volume exists, and updates the volume', async () => {
    const { clock, fs, api, client, cri, start } = await makeCluster();
    const { stop } = start();
    await seconds(clock, 2);
    const pod = boundPod('web', { volumes: [{ name: 'db', secret: { secretName: 'db' } }] });
    const [main] = pod.spec.containers;
    const containers = [{ ...main, name: 'main', volumeMounts: [{ name: 'db', mountPath: '/db' }] }];
    await client.create(resources.pods, { ...pod, spec: { ...pod.spec, containers } });
    await seconds(clock, 60);
    expect(cri.liveContainers()).toHaveLength(0);
    const put = (password: string): unknown =>
      api.put({
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { namespace: 'default', name: 'db' },
        data: { password: Buffer.from(password).toString('base64') },
      });
    const shown = async (): Promise<string[]> => {
      const paths = fs.paths().filter((path) => path.endsWith('/password') && path.includes('/db/..2'));
      return await Promise.all(paths.map(async (path) => Buffer.from(await fs.readFile(path)).toString()));
    };
    put('one');
    await seconds(clock, 1);
    expect(cri.liveContainers()).toHaveLength(1);
    expect(await shown()).toEqual(['one']);
    put('two');
    await seconds(clock, 1);
    expect(await shown()).toEqual(['two']);
    await stop();
  });

  it("K3: a pod's token is replaced before it expires, also if the API server is unavailable for a while", async () => {
    const { clock, fs, api, client, start } = await makeCluster();
    const { stop } = start();
    await seconds(clock, 2);
    const sources = [{ serviceAccountToken: { path: 'token', expirationSeconds: 600 } }];
    const pod = boundPod('web', {
      serviceAccountName: 'default',
      volumes: [{ name: 'access', projected: { sources } }],
    });
    const [main] = pod.spec.containers;
    const containers = [{ ...main, name: 'main', volumeMounts: [{ name: 'access', mountPath: '/access' }] }];
    api.put({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { namespace: 'default', name: 'default' } });
    await client.create(resources.pods, { ...pod, spec: { ...pod.spec, containers } });
    await seconds(clock, 3);
    const token = async (): Promise<{ text: string; leftMs: number }> => {
      const path = fs.paths().find((candidate) => /access\/\.\.2.*\/token$/.test(candidate)) ?? '';
      const text = Buffer.from(await fs.readFile(path)).toString();
      const { exp } = JSON.parse(Buffer.from(text.split('.')[1] ?? '', 'base64url').toString());
      return { text, leftMs: exp * 1000 - clock.now() };
    };
    const seen = new Set<string>();
    for (let minute = 0; minute < 30; minute++) {
      const now = await token();
      seen.add(now.text);
      expect(now.leftMs).toBeGreaterThan(0);
      // The API server is unavailable when the second token is due.
      if (minute === 15) api.refuseConnections();
      if (minute === 17) api.acceptConnections();
      await clock.advance(60_000);
    }
    expect(seen.size).toBeGreaterThanOrEqual(3);
    await stop();
  });
});
