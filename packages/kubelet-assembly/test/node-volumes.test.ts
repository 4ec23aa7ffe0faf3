import { memoryForeignFiles } from '@node-agent/host/testing';
import { noEvents, noMetrics, silentLogger } from '@node-agent/telemetry';
import { expect, it } from 'vitest';
import { nodeVolumes } from '../src/node-volumes.ts';
import { makePod, makeWorld } from './node.ts';

const CLAIM = {
  metadata: { name: 'c', namespace: 'default', uid: 'uid-c' },
  spec: { volumeName: 'pv-1' },
  status: { phase: 'Bound' },
};
const PERSISTENT_VOLUME = {
  metadata: { name: 'pv-1' },
  spec: { claimRef: { uid: 'uid-c' }, volumeMode: 'Filesystem', local: { path: '/dev/sdb' } },
};
const POD = makePod('web', {
  containers: [{ name: 'main', volumeMounts: [{ name: 'data', mountPath: '/data' }] }],
  volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'c' } }],
});

/** Volumes of a node with a disk, and the recorded calls. */
async function setUp(mountsDisks: boolean, mountsNetworks = false) {
  const { clock, random, fs } = await makeWorld();
  await fs.mkdir('/dev');
  fs.makeSpecial('/dev/sdb', 'blockDevice');
  const mounted = new Map<string, string>();
  const mounter = {
    mountPoints: async () => new Map(mounted),
    mountsOfSame: async () => [],
    mount: async () => {},
    bind: async (_source: string, target: string) => void mounted.set(target, 'bound'),
    rebind: async () => {},
    unmount: async () => {},
  };
  const localDevices = {
    formatAndMount: async (_device: string, target: string, fsType: string) => void mounted.set(target, fsType),
  };
  const networkMounter = {
    ...mounter,
    mount: async (source: string, target: string) => void mounted.set(target, source),
  };
  const names: string[] = [];
  const child = (name: string) => {
    names.push(name);
    return { clock, random, metrics: noMetrics, recorder: noEvents, logger: silentLogger };
  };
  const foreignFiles = memoryForeignFiles({ clock, fs });
  const volumes = nodeVolumes(
    child,
    {
      fs,
      foreignFiles,
      mounter,
      clock,
      random,
      ...(mountsDisks && { localDevices }),
      ...(mountsNetworks && { networkMounter }),
    },
    { rootDirectory: '/root', nodeAllocatable: { memory: '1Gi' } } as unknown as Parameters<typeof nodeVolumes>[2],
    {
      pods: { wake: () => {} },
      node: { allocatable: () => ({}), labels: () => ({}) },
      objects: {
        volumeSources: {},
        claims: { getClaim: async () => CLAIM, getPersistentVolume: async () => PERSISTENT_VOLUME },
      } as unknown as Parameters<typeof nodeVolumes>[3]['objects'],
      attachedVolumes: () => [],
      onVolumesInUseChanged: () => {},
      supportsRecursiveReadOnly: () => false,
    },
  );
  return { volumes, mounted, names };
}

const { signal } = new AbortController();

it('mounts local disks if the port exists, and logs under the component volumes', async () => {
  const { volumes, mounted, names } = await setUp(true);
  await volumes.waitForAttachAndMount(POD, signal);
  expect([...mounted]).toEqual([
    ['/root/plugins/kubernetes.io/local-volume/mounts/pv-1', 'ext4'],
    ['/root/pods/uid-web/volumes/kubernetes.io~local-volume/pv-1', 'bound'],
  ]);
  expect(names).toEqual(['volumes', 'volumes']);
});

it('rejects local volumes without the port', async () => {
  const { volumes, mounted, names } = await setUp(false);
  const why = 'type local is not supported by this kubelet';
  await expect(volumes.waitForAttachAndMount(POD, signal)).rejects.toThrow(why);
  expect([[...mounted], names]).toEqual([[], ['volumes']]);
});

const NFS_POD = makePod('web', {
  containers: [{ name: 'main', volumeMounts: [{ name: 'data', mountPath: '/data' }] }],
  volumes: [{ name: 'data', nfs: { server: 'server', path: '/export' } }],
});

it('mounts NFS exports by the mounter of network file systems', async () => {
  const { volumes, mounted } = await setUp(false, true);
  await volumes.waitForAttachAndMount(NFS_POD, signal);
  expect([...mounted]).toEqual([['/root/pods/uid-web/volumes/kubernetes.io~nfs/data', 'server:/export']]);
});

it('rejects NFS exports without a mounter of network file systems', async () => {
  const { volumes } = await setUp(false);
  expect(volumes.unsupported(NFS_POD)).toEqual(['volume data: type nfs is not supported by this kubelet']);
});
