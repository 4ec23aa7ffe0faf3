import type { CsiDriverClient } from '@node-agent/contracts';
import { CsiDriverRegistry } from '@node-agent/csi';
import { resources } from '@node-agent/kube-client';
import type { Pod } from '@node-agent/pod-spec';
import { expect, it, vi } from 'vitest';
import { boundPod, makeCluster, seconds } from './cluster-world.ts';

const DRIVER = 'disk.csi.example.com';
const UNIQUE = `kubernetes.io/csi/${DRIVER}^vol-1`;
/** Name of the VolumeAttachment: `csi-` and the SHA-256 of `vol-1`, the driver's name and `n1`. */
const ATTACHMENT = 'csi-77d461ede916a213d0cdd7064b59d19da1060eefc8f407ef1de4c79dafe4e628';

const [main] = boundPod('').spec.containers;
const withClaim: Partial<Pod['spec']> = {
  containers: [{ name: 'main', ...main, volumeMounts: [{ name: 'data', mountPath: '/data' }] }],
  volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'c' } }],
};

/** Returns a CSI driver without staging that records its calls. */
function memoryDriver(calls: string[]): CsiDriverClient {
  const can = { stageUnstage: false, volumeStats: false, expandVolume: false };
  return {
    name: DRIVER,
    capabilities: async () => ({
      ...can,
      volumeCondition: false,
      singleNodeMultiWriter: false,
      volumeMountGroup: false,
    }),
    stageVolume: async () => void calls.push('stage'),
    unstageVolume: async () => void calls.push('unstage'),
    publishVolume: async ({ publishContext, secrets, volumeContext }) => {
      calls.push(`publish ${publishContext.device} ${secrets.key} ${Object.keys(volumeContext)}`);
    },
    unpublishVolume: async () => void calls.push('unpublish'),
    expandVolume: async () => 0n,
    volumeStats: async () => ({ usage: [] }),
  };
}

it('V5: a CSI volume is reported in use, attached by the controller and published, and not in use when its pod is gone', async () => {
  const { clock, api, client, cri, start } = await makeCluster();
  const calls: string[] = [];
  const driver = memoryDriver(calls);
  const { stop } = start({ csiDrivers: { driver: (name) => (name === DRIVER ? driver : undefined) } });
  api.put({
    apiVersion: 'storage.k8s.io/v1',
    kind: 'CSIDriver',
    metadata: { name: DRIVER },
    spec: {
      attachRequired: true,
      podInfoOnMount: true,
      volumeLifecycleModes: ['Persistent'],
      tokenRequests: [{ audience: 'a' }],
    },
  });
  api.put({
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name: 'c', namespace: 'default', uid: 'uid-c' },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } }, volumeName: 'pv-1' },
    status: { phase: 'Bound' },
  });
  const nodePublishSecretRef = { namespace: 'default', name: 's' };
  api.put({
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name: 'pv-1' },
    spec: {
      ...{ accessModes: ['ReadWriteOnce'], capacity: { storage: '1Gi' }, volumeMode: 'Filesystem' },
      claimRef: { namespace: 'default', name: 'c', uid: 'uid-c' },
      csi: { driver: DRIVER, volumeHandle: 'vol-1', nodePublishSecretRef },
    },
  });
  api.put({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'default', namespace: 'default' } });
  const metadata = { name: 's', namespace: 'default' };
  api.put({ apiVersion: 'v1', kind: 'Secret', metadata, data: { key: Buffer.from('x').toString('base64') } });
  await seconds(clock, 2);
  await client.create(resources.pods, boundPod('web', { ...withClaim, serviceAccountName: 'default' }));
  await seconds(clock, 2);
  const node = () => client.get(resources.nodes, { name: 'n1' });
  expect([(await node()).status?.volumesInUse, calls]).toEqual([[UNIQUE], []]);
  api.put({
    apiVersion: 'storage.k8s.io/v1',
    kind: 'VolumeAttachment',
    metadata: { name: ATTACHMENT },
    spec: { attacher: DRIVER, nodeName: 'n1', source: { persistentVolumeName: 'pv-1' } },
    status: { attached: true, attachmentMetadata: { device: '/dev/sdx' } },
  });
  const attached = { status: { volumesAttached: [{ name: UNIQUE, devicePath: '' }] } };
  await client.patch(resources.nodes, { type: 'merge', body: attached }, { name: 'n1', subresource: 'status' });
  await seconds(clock, 3);
  expect(calls).toEqual([
    expect.stringMatching(/^publish \/dev\/sdx x csi\.storage\.k8s\.io\/pod\.name,.*serviceAccount\.tokens$/),
  ]);
  expect(cri.liveContainers()).toHaveLength(1);
  await client.delete(resources.pods, { namespace: 'default', name: 'web' });
  await seconds(clock, 5);
  expect([calls.slice(1), (await node()).status?.volumesInUse]).toEqual([['unpublish'], undefined]);
  await stop();
});

it('the event of a pod names the CSI driver of its volume if the driver is not registered', async () => {
  const { clock, api, client, start } = await makeCluster();
  const { stop, kubelet } = start({ csiDrivers: { driver: () => undefined } });
  const spec = { attachRequired: false, volumeLifecycleModes: ['Ephemeral'] };
  api.put({ apiVersion: 'storage.k8s.io/v1', kind: 'CSIDriver', metadata: { name: DRIVER }, spec });
  await seconds(clock, 2);
  const volumes = [{ name: 'data', csi: { driver: DRIVER } }];
  await client.create(resources.pods, boundPod('web', { ...withClaim, volumes }));
  await seconds(clock, 2);
  const waits = kubelet.explain('default', 'web')?.waitingFor.map(({ what }) => what);
  expect(waits?.join('\n')).toContain(`driver name ${DRIVER} not found in the list of registered CSI drivers`);
  await stop();
});

it('a container gets the block volume of a local disk as a device', async () => {
  const { clock, api, client, cri, fs, start } = await makeCluster();
  await fs.mkdir('/dev');
  fs.makeSpecial('/dev/sdb', 'blockDevice');
  const attached = new Set<string>();
  const loopDevices = {
    find: async (path: string) => (attached.has(path) ? '/dev/loop0' : undefined),
    attach: async (path: string) => void attached.add(path),
    detach: async () => attached.clear(),
  };
  const creating = vi.spyOn(cri, 'createContainer');
  const { stop } = start({ loopDevices });
  api.put({
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name: 'c', namespace: 'default', uid: 'uid-c' },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } }, volumeName: 'pv-1' },
    status: { phase: 'Bound' },
  });
  api.put({
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name: 'pv-1' },
    spec: {
      ...{ accessModes: ['ReadWriteOnce'], capacity: { storage: '1Gi' }, volumeMode: 'Block' },
      claimRef: { namespace: 'default', name: 'c', uid: 'uid-c' },
      local: { path: '/dev/sdb' },
    },
  });
  await seconds(clock, 2);
  const containers = [{ name: 'main', ...main, volumeDevices: [{ name: 'data', devicePath: '/dev/xvda' }] }];
  const created = await client.create(resources.pods, boundPod('web', { ...withClaim, containers }));
  await seconds(clock, 3);
  const hostPath = `/root/pods/${created.metadata.uid}/volumeDevices/kubernetes.io~local-volume/pv-1`;
  expect(creating.mock.calls.map(([request]) => request.config?.devices)).toEqual([
    [expect.objectContaining({ hostPath, containerPath: '/dev/xvda', permissions: 'mrw' })],
  ]);
  await client.delete(resources.pods, { namespace: 'default', name: 'web' });
  await seconds(clock, 5);
  expect([attached.size, fs.paths().filter((path) => path.includes('pv-1'))]).toEqual([0, []]);
  await stop();
});

it('a pod whose CSI volume cannot be attached to the full node fails with the reason, and the limit is read again', async () => {
  const { clock, api, client, cri, start } = await makeCluster();
  const refreshing = vi.spyOn(CsiDriverRegistry.prototype, 'refresh').mockResolvedValue();
  const driver = memoryDriver([]);
  const pluginsDirectory = '/root/plugins_registry';
  const { stop } = start({ csiDrivers: { driver: () => driver } }, { pluginsDirectory });
  const spec = { attachRequired: true, volumeLifecycleModes: ['Persistent'], nodeAllocatableUpdatePeriodSeconds: 600 };
  api.put({ apiVersion: 'storage.k8s.io/v1', kind: 'CSIDriver', metadata: { name: DRIVER }, spec });
  api.put({
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name: 'c', namespace: 'default', uid: 'uid-c' },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } }, volumeName: 'pv-1' },
    status: { phase: 'Bound' },
  });
  api.put({
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name: 'pv-1' },
    spec: {
      ...{ accessModes: ['ReadWriteOnce'], capacity: { storage: '1Gi' }, volumeMode: 'Filesystem' },
      claimRef: { namespace: 'default', name: 'c', uid: 'uid-c' },
      csi: { driver: DRIVER, volumeHandle: 'vol-1' },
    },
  });
  api.put({
    apiVersion: 'storage.k8s.io/v1',
    kind: 'VolumeAttachment',
    metadata: { name: ATTACHMENT },
    spec: { attacher: DRIVER, nodeName: 'n1', source: { persistentVolumeName: 'pv-1' } },
    status: { attached: false, attachError: { errorCode: 8, message: 'full' } },
  });
  await seconds(clock, 2);
  await client.create(resources.pods, boundPod('web', withClaim));
  await seconds(clock, 128);
  const { status } = await client.get(resources.pods, { namespace: 'default', name: 'web' });
  expect(status).toMatchObject({ phase: 'Failed', reason: 'VolumeAttachmentLimitExceeded' });
  expect(status?.message).toMatch(/^Pod was rejected: Node has reached its volume attachment limit, rejecting pod\./);
  expect([cri.liveContainers(), refreshing.mock.calls.map(([name]) => name)]).toEqual([[], [DRIVER]]);
  refreshing.mockRestore();
  await stop();
});

it('a flexVolume driver that attaches volumes gets the device that the controller has reported on the node', async () => {
  const { clock, client, fs, start } = await makeCluster();
  const calls: (readonly string[])[] = [];
  const mounted = new Map<string, string>();
  const networkMounter = {
    mountPoints: async () => new Map(mounted),
    mountsOfSame: async () => [],
    mount: async () => {},
    bind: async () => {},
    rebind: async () => {},
    unmount: async () => {},
  };
  const run = async (_path: string, args: readonly string[]) => {
    const [command = '', target = ''] = args;
    calls.push(args.filter((arg) => !arg.startsWith('{')));
    if (command === 'mount' || command === 'mountdevice') mounted.set(target, 'flex');
    return { exitCode: 0, output: JSON.stringify({ status: 'Success', device: '/dev/mapper/a' }) };
  };
  await fs.mkdir('/exec/disk');
  await fs.writeFile('/exec/disk/disk', '');
  const { stop } = start({ networkMounter, flexPrograms: { run } }, { flexVolumeDirectory: '/exec' });
  await seconds(clock, 2);
  const volumes = [{ name: 'data', flexVolume: { driver: 'disk' } }];
  const created = await client.create(resources.pods, boundPod('web', { ...withClaim, volumes }));
  await seconds(clock, 2);
  const node = await client.get(resources.nodes, { name: 'n1' });
  expect(node.status?.volumesInUse).toEqual(['disk/data']);
  const body = { status: { volumesAttached: [{ name: 'disk/data', devicePath: '/dev/sdx' }] } };
  await client.patch(resources.nodes, { type: 'merge', body }, { name: 'n1', subresource: 'status' });
  await seconds(clock, 3);
  expect(calls).toEqual([
    ['init'],
    ['getvolumename'],
    ['waitforattach', '/dev/sdx'],
    ['mountdevice', '/root/plugins/kubernetes.io/flexvolume/disk/mounts/data', '/dev/mapper/a'],
    ['mount', `/root/pods/${created.metadata.uid}/volumes/disk/data`],
  ]);
  await stop();
});
