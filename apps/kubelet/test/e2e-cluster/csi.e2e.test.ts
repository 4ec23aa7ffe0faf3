import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { findUpstreamKubelet } from '@node-agent/tools-control-plane';
import { cannotMount, type DriverProcess } from '@node-agent/tools-csi-driver';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { containerId, script } from '../e2e/test-node.ts';
import { withCluster } from './clusters.ts';
import {
  attach,
  attachments,
  callsOf,
  claimed,
  createClaim,
  csiNode,
  mountsOf,
  NODE_ID,
  nodeCalls,
  type PodVolume,
  podSpec,
  startDriver,
  storageGone,
  storageOf,
} from './csi-storage.ts';
import type { TestCluster } from './test-cluster.ts';
import { FOREVER } from './workloads.ts';

const DRIVER = 'test.csi.example.com';
const ATTACHING = 'attach.csi.example.com';
const GROUP = 4321;

const problem = await cannotMount(['ext4']);
/** The Go kubelet is used only if it was built before, because a build takes minutes. */
const upstream = await findUpstreamKubelet({ say: () => {}, onlyPresent: true });
/** Time after which the Go kubelet has reconstructed and checked all volumes. */
const SETTLED_MS = 6_000;
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

async function restart(it: TestCluster): Promise<void> {
  await it.node.kill('SIGKILL');
  await it.node.start();
  await it.until('the kubelet to be healthy', async () => ((await it.node.health())?.ok ? true : undefined));
}

const inline = (name: string): PodVolume => ({
  name,
  csi: { driver: DRIVER, volumeAttributes: { size: '1Mi' } },
});

await withCluster('CSI volumes', { subnet: '10.199.87.0/24', ...(problem && { problem }) }, (cluster) => {
  let driver: DriverProcess;
  let before: readonly string[] = [];

  beforeAll(async () => {
    const it = cluster();
    before = await storageOf(it);
    const spec = { podInfoOnMount: true, fsGroupPolicy: 'File', volumeLifecycleModes: ['Persistent', 'Ephemeral'] };
    driver = await startDriver(it, DRIVER, spec, { flags: ['--maxvolumespernode=9'] });
  }, 120_000);
  afterAll(async () => {
    await driver?.stop();
  });

  test('CSI drivers are listed in CSINode and in the annotation of the Node while their registrar runs', async () => {
    const it = cluster();
    const node = await csiNode(it);
    expect(node?.spec.drivers).toEqual([
      { name: DRIVER, nodeID: NODE_ID, topologyKeys: ['topology.hostpath.csi/node'], allocatable: { count: 9 } },
    ]);
    expect(node?.metadata.ownerReferences).toMatchObject([{ kind: 'Node', name: 'e2e' }]);
    type Metadata = { annotations: Record<string, string>; labels: Record<string, string> };
    const nodeMetadata = async () => (await it.get<{ metadata: Metadata }>('/api/v1/nodes/e2e'))?.metadata;
    const { annotations: own, labels } = (await nodeMetadata()) ?? {};
    expect(own?.['csi.volume.kubernetes.io/nodeid']).toBe(JSON.stringify({ [DRIVER]: NODE_ID }));
    expect(labels?.['topology.hostpath.csi/node']).toBe(NODE_ID);
    await driver.killRegistrar('SIGTERM');
    await it.until('the driver to be removed from CSINode', async () =>
      ((await csiNode(it))?.spec.drivers ?? []).length === 0 ? true : undefined,
    );
    // As upstream, the kubelet removes the driver from CSINode first, and from the Node afterwards.
    await it.until('the annotation to be removed from the Node', async () => {
      const annotations = (await nodeMetadata())?.annotations;
      return annotations !== undefined && !('csi.volume.kubernetes.io/nodeid' in annotations) ? true : undefined;
    });
    await driver.start();
    await it.until('the driver in CSINode', async () => (await csiNode(it))?.spec.drivers?.[0]?.nodeID);
  });

  test('K1: a file system, a directory and an inline CSI volume stay mounted over a kill -9 of the kubelet, and are removed with the pod', async () => {
    const it = cluster();
    const disk = await createClaim(it, driver, DRIVER, 'disk', { fsType: 'ext4' });
    const shared = await createClaim(it, driver, DRIVER, 'shared', { accessModes: ['ReadWriteMany'] });
    const volumes = [claimed('disk'), claimed('shared'), inline('scratch')];
    const text = 'set -e; for d in disk shared scratch; do echo first > /$d/f; done';
    const startedAt = performance.now();
    await it.createPod('first', podSpec(text, volumes, { securityContext: { fsGroup: GROUP } }));
    const first = await it.readyPod('first');
    const { uid } = first.metadata;
    const readyMs = Math.round(performance.now() - startedAt);
    console.log(
      `pod with three CSI volumes: Ready after ${readyMs} ms; calls since the start: ${await nodeCalls(driver)}`,
    );
    const own = (name: string) => join(it.node.rootDir, 'pods', uid, 'volumes/kubernetes.io~csi', name);
    for (const name of ['disk', 'shared', 'scratch']) {
      expect(await readFile(join(own(name), 'mount/f'), 'utf8')).toBe('first\n');
      expect((await stat(join(own(name), 'mount'))).gid).toBe(GROUP);
    }
    const data = JSON.parse(await readFile(join(own('disk'), 'vol_data.json'), 'utf8')) as object;
    expect(data).toMatchObject({
      ...{ driverName: DRIVER, nodeName: 'e2e', specVolID: 'disk', volumeHandle: disk },
      volumeLifecycleMode: 'Persistent',
    });
    const published = (await driver.calls('NodePublishVolume')).map(({ request }) => request.volumeContext);
    expect(published).toEqual(
      expect.arrayContaining([
        expect.objectContaining({
          'csi.storage.k8s.io/pod.name': 'first',
          'csi.storage.k8s.io/pod.namespace': 'default',
          'csi.storage.k8s.io/pod.uid': uid,
          'csi.storage.k8s.io/serviceAccount.name': 'default',
          'csi.storage.k8s.io/ephemeral': 'true',
        }),
      ]),
    );
    expect(await callsOf(driver, disk)).toMatchObject({ NodeStageVolume: 1, NodePublishVolume: 1 });

    const mounts = await mountsOf(it, 'kubernetes.io');
    expect(mounts.length).toBeGreaterThanOrEqual(5);
    await restart(it);
    await pause(5_000);
    expect(containerId(await it.readyPod('first'))).toBe(containerId(first));
    expect(await mountsOf(it, 'kubernetes.io')).toEqual(mounts);
    console.log(`calls for one volume, with a restart of the kubelet: ${JSON.stringify(await callsOf(driver, disk))}`);

    await it.deletePod('first');
    await storageGone(it, before);
    expect(await callsOf(driver, disk)).toMatchObject({ NodeUnpublishVolume: 1, NodeUnstageVolume: 1 });
    // The volumes of the claims keep their data after the pod is deleted; the inline volume does not.
    await it.createPod('second', podSpec('cat /disk/f /shared/f && [ ! -e /scratch/f ] || exit 1', volumes));
    const second = await it.readyPod('second');
    expect(second.status?.containerStatuses?.[0]?.restartCount).toBe(0);
    await it.deletePod('second');
    await storageGone(it, before);
    expect(shared).not.toBe('');
  });

  test('V1, V4: mounted CSI volumes stay mounted when the Go kubelet replaces this kubelet, and back again', async (context) => {
    if ('reason' in upstream) return context.skip(upstream.reason);
    const it = cluster();
    const disk = await createClaim(it, driver, DRIVER, 'handed', { fsType: 'ext4' });
    const raw = await createClaim(it, driver, DRIVER, 'handed-raw', { isBlock: true });
    const volumes = [claimed('handed'), inline('scratch')];
    await it.createPod('handed', podSpec('echo x > /handed/f', volumes, { securityContext: { fsGroup: GROUP } }));
    const volumeDevices = [{ name: 'handed-raw', devicePath: '/dev/raw0' }];
    const containers = [script('c', FOREVER, { volumeDevices })];
    await it.createPod('handed-raw', { containers, volumes: [claimed('handed-raw')] });
    const ids = async (): Promise<readonly string[]> =>
      [await it.readyPod('handed'), await it.readyPod('handed-raw')].map((pod) => containerId(pod));
    const [running, mounts] = [await ids(), await storageOf(it)];
    const counted = async (): Promise<object> => {
      const calls = [await callsOf(driver, disk), await callsOf(driver, raw)];
      console.log(`calls per volume: ${JSON.stringify(calls)}`);
      return calls.map(({ NodeUnstageVolume, NodeUnpublishVolume }) => [NodeUnstageVolume, NodeUnpublishVolume]);
    };
    const none = [undefined, undefined];
    for (const kubelet of [upstream.binaries.kubelet, undefined]) {
      await it.node.kill('SIGTERM');
      await it.node.start(kubelet);
      await it.until('the kubelet to be healthy', async () => ((await it.node.health())?.ok ? true : undefined));
      await pause(SETTLED_MS);
      expect(await ids()).toEqual(running);
      expect(await storageOf(it)).toEqual(mounts);
      expect(await counted()).toEqual([none, none]);
    }
    for (const name of ['handed', 'handed-raw']) await it.deletePod(name);
    await storageGone(it, before);
    expect(await counted()).toEqual([
      [1, 1],
      [1, 1],
    ]);
  });

  test('a container gets a PVC with volumeMode Block as a device, which is removed with the pod', async () => {
    const it = cluster();
    const volumeId = await createClaim(it, driver, DRIVER, 'raw', { isBlock: true });
    const pod = (text: string): object => ({
      containers: [script('c', `${text}; ${FOREVER}`, { volumeDevices: [{ name: 'raw', devicePath: '/dev/raw0' }] })],
      volumes: [claimed('raw')],
    });
    await it.createPod('writes', pod('set -e; [ -b /dev/raw0 ]; echo block-data | dd of=/dev/raw0 conv=notrunc,fsync'));
    const writes = await it.readyPod('writes');
    expect(await callsOf(driver, volumeId)).toMatchObject({ NodeStageVolume: 1, NodePublishVolume: 1 });
    const mounts = await mountsOf(it, 'volumeDevices');
    await restart(it);
    await pause(3_000);
    expect(containerId(await it.readyPod('writes'))).toBe(containerId(writes));
    expect(await mountsOf(it, 'volumeDevices')).toEqual(mounts);
    await it.deletePod('writes');
    await storageGone(it, before);
    await it.createPod('reads', pod('dd if=/dev/raw0 bs=10 count=1 | grep -q block-data || exit 1'));
    await it.readyPod('reads');
    await it.deletePod('reads');
    await storageGone(it, before);
    expect(await callsOf(driver, volumeId)).toMatchObject({ NodeUnpublishVolume: 2, NodeUnstageVolume: 2 });
  });

  test('a CSI volume is staged with the metadata of its VolumeAttachment, and is in volumesInUse until unmounted', async () => {
    const it = cluster();
    const attaching = await startDriver(it, ATTACHING, { attachRequired: true }, { flags: ['--enable-attach'] });
    try {
      const volumeId = await createClaim(it, attaching, ATTACHING, 'attached');
      await it.createPod('waits', podSpec('echo here > /attached/f', [claimed('attached')]));
      const uniqueName = `kubernetes.io/csi/${ATTACHING}^${volumeId}`;
      const inUse = async (): Promise<readonly string[]> =>
        (await it.get<{ status: { volumesInUse?: readonly string[] } }>('/api/v1/nodes/e2e'))?.status.volumesInUse ??
        [];
      await it.until('the volume in use', async () => (await inUse()).includes(uniqueName) || undefined);
      expect(await callsOf(attaching, volumeId)).toEqual({});
      const publishContext = await attaching.attachVolume(volumeId);
      const name = await attach(it, 'attached', publishContext);
      await it.readyPod('waits');
      const staged = (await attaching.calls('NodeStageVolume')).find(({ code }) => code === 'OK');
      expect(staged?.request).toMatchObject({ publishContext });
      await it.deletePod('waits');
      await it.until('the volume to be out of use', async () => !(await inUse()).includes(uniqueName) || undefined);
      await it.until(
        'the VolumeAttachment to be gone',
        async () => (await attachments(it)).every(({ metadata }) => metadata.name !== name) || undefined,
      );
      await storageGone(it, before);
    } finally {
      await attaching.stop();
    }
  });

  test('K1: a CSI driver that is killed during a call is called again after its restart, and the pod recovers', async () => {
    const it = cluster();
    for (const rpc of ['NodeStageVolume', 'NodePublishVolume', 'NodeUnpublishVolume', 'NodeUnstageVolume']) {
      const name = rpc
        .replace(/([A-Z])/g, '-$1')
        .toLowerCase()
        .slice(1);
      const volumeId = await createClaim(it, driver, DRIVER, name, { fsType: 'ext4' });
      await driver.control({ faults: [{ rpc, volumeId, at: 'middle', die: true, times: 1 }] });
      await it.createPod(name, podSpec(`echo x > /${name}/f`, [claimed(name)]));
      const dead = async (): Promise<void> => {
        await it.until('the driver to die', async () => !driver.isRunning || undefined);
        await driver.start();
      };
      if (rpc.startsWith('NodeUn')) {
        await it.readyPod(name);
        await Promise.all([it.deletePod(name), dead()]);
      } else {
        await dead();
        await it.readyPod(name);
        await it.deletePod(name);
      }
      await storageGone(it, before);
      expect((await driver.calls(rpc)).at(-1)).toMatchObject({ code: 'OK', request: { volumeId } });
    }
  });

  test('K1: a kubelet that is killed during a CSI call completes the operation after its restart', async () => {
    const it = cluster();
    for (const rpc of ['NodeStageVolume', 'NodePublishVolume', 'NodeUnpublishVolume', 'NodeUnstageVolume']) {
      const name = `k${rpc.replace(/([A-Z])/g, '-$1').toLowerCase()}`;
      const volumeId = await createClaim(it, driver, DRIVER, name, { fsType: 'ext4' });
      await driver.control({ faults: [{ rpc, volumeId, at: 'middle', delayMs: 1_500, times: 1 }] });
      await it.createPod(name, podSpec(`echo x > /${name}/f`, [claimed(name)]));
      const isEnd = rpc.startsWith('NodeUn');
      if (isEnd) {
        await it.readyPod(name);
        await it.plane.request('DELETE', `/api/v1/namespaces/default/pods/${name}`);
      }
      await it.until(`a call of ${rpc}`, async () => (await driver.faultsLeft()) === 0 || undefined);
      await restart(it);
      if (!isEnd) expect((await it.readyPod(name)).status?.containerStatuses?.[0]?.restartCount).toBe(0);
      await it.deletePod(name);
      await storageGone(it, before);
      const { NodeStageVolume: stages = 0, NodeUnstageVolume: unstages = 0 } = await callsOf(driver, volumeId);
      expect([stages > 0, unstages > 0]).toEqual([true, true]);
    }
  });

  test('W6: a CSI driver that hangs in one call delays neither another volume of the driver nor another pod', async () => {
    const it = cluster();
    const hangs = await createClaim(it, driver, DRIVER, 'hangs');
    const free = await createClaim(it, driver, DRIVER, 'free');
    const plain = podSpec('echo x > /empty/f', [{ name: 'empty', emptyDir: {} }]);
    const timedStart = async (name: string, spec: object): Promise<number> => {
      await it.createPod(name, spec);
      return it.timed(() => it.readyPod(name));
    };
    const usual = await timedStart('usual', plain);
    await driver.control({ faults: [{ rpc: 'NodeStageVolume', volumeId: hangs, hang: true }] });
    await it.createPod('stuck', podSpec('true', [claimed('hangs')]));
    await pause(2_000);
    const [beside, other] = [
      await timedStart('beside', plain),
      await timedStart('other', podSpec('true', [claimed('free')])),
    ];
    console.log(
      `start without volumes: ${usual} ms; beside a hanging driver: ${beside} ms, with a volume of it: ${other} ms`,
    );
    expect(beside).toBeLessThan(2 * usual + 2_000);
    expect((await it.pod('stuck'))?.status?.phase).toBe('Pending');
    await driver.control({});
    await it.readyPod('stuck');
    for (const name of ['usual', 'stuck', 'beside', 'other']) await it.deletePod(name);
    await storageGone(it, before);
    expect(await callsOf(driver, free)).toMatchObject({ NodeStageVolume: 1, NodePublishVolume: 1 });
  });

  test('K1: the CSI volumes of a pod that is deleted while the kubelet is down are unmounted', async () => {
    const it = cluster();
    await createClaim(it, driver, DRIVER, 'orphan', { fsType: 'ext4' });
    await it.createPod('orphan', podSpec('echo x > /orphan/f', [claimed('orphan'), inline('scratch')]));
    await it.readyPod('orphan');
    await it.node.kill('SIGKILL');
    await it.plane.request('DELETE', '/api/v1/namespaces/default/pods/orphan?gracePeriodSeconds=0');
    await it.node.start();
    await storageGone(it, before);
  });
});
