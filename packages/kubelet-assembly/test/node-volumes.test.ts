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

/**
 * Creates the volume manager of a node, and records its calls. Each argument says which kinds of volumes the node can
 * mount.
 */
async function setUp(mountsDisks: boolean, mountsNetworks = false, more: object = {}) {
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
      ...more,
    },
    {
      rootDirectory: '/root',
      nodeAllocatable: { memory: '1Gi' },
      flexVolumeDirectory: '/exec',
    } as unknown as Parameters<typeof nodeVolumes>[2],
    {
      pods: { wake: () => {} },
      node: { allocatable: () => ({}), labels: () => ({}) },
      objects: {
        volumeSources: {},
        csi: { objects: { getSecret: async () => ({ type: 'disk', data: { key: 'eA==' } }) } },
        claims: { getClaim: async () => CLAIM, getPersistentVolume: async () => PERSISTENT_VOLUME },
      } as unknown as Parameters<typeof nodeVolumes>[3]['objects'],
      attachedVolumes: () => [],
      devicePath: () => undefined,
      onVolumesInUseChanged: () => {},
      supportsRecursiveReadOnly: () => false,
    },
  );
  return { volumes, mounted, names, fs };
}

const { signal } = new AbortController();

it('local disks are mounted if the port localDevices is present, and the manager logs under the component volumes', async () => {
  const { volumes, mounted, names } = await setUp(true);
  await volumes.waitForAttachAndMount(POD, signal);
  expect([...mounted]).toEqual([
    ['/root/plugins/kubernetes.io/local-volume/mounts/pv-1', 'ext4'],
    ['/root/pods/uid-web/volumes/kubernetes.io~local-volume/pv-1', 'bound'],
  ]);
  expect([...new Set(names)]).toEqual(['volumes']);
});

it('local PersistentVolumes are rejected if the port localDevices is absent', async () => {
  const { volumes, mounted } = await setUp(false);
  const why = 'type local is not supported by this kubelet';
  await expect(volumes.waitForAttachAndMount(POD, signal)).rejects.toThrow(why);
  expect([...mounted]).toEqual([]);
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

const FLEX_POD = makePod('web', {
  containers: [{ name: 'main', volumeMounts: [{ name: 'data', mountPath: '/data' }] }],
  volumes: [{ name: 'data', flexVolume: { driver: 'disk', secretRef: { name: 's' } } }],
});

it('mounts flexVolumes by the drivers of the configured directory, which get secrets', async () => {
  const calls: (readonly string[])[] = [];
  const run = async (path: string, args: readonly string[]) => {
    calls.push([path, ...args]);
    return { exitCode: 0, output: '{"status":"Success","capabilities":{"attach":false}}' };
  };
  const { volumes, fs } = await setUp(false, true, { flexPrograms: { run } });
  await fs.mkdir('/exec/disk');
  await fs.writeFile('/exec/disk/disk', '');
  await volumes.waitForAttachAndMount(FLEX_POD, signal);
  expect(calls).toEqual([
    ['/exec/disk/disk', 'init'],
    ['/exec/disk/disk', 'mount', '/root/pods/uid-web/volumes/disk/data', expect.stringContaining('"eA=="')],
  ]);
});

it('rejects flexVolumes without a port that runs drivers', async () => {
  const { volumes } = await setUp(false, true);
  expect(volumes.unsupported(FLEX_POD)).toEqual(['volume data: type flexVolume is not supported by this kubelet']);
});

it.each(['iscsi', 'fc'])(
  '%s volumes are supported only if both diskTools and networkDevices are present',
  async (type) => {
    const source = type === 'fc' ? { wwids: ['3600508b4'] } : { targetPortal: '192.0.2.1', iqn: 'iqn.x:y', lun: 0 };
    const pod = makePod('web', {
      containers: [{ name: 'main', volumeMounts: [{ name: 'data', mountPath: '/data' }] }],
      volumes: [{ name: 'data', [type]: source }],
    });
    const diskTools = { run: async () => ({ exitCode: 0, output: '' }), write: async () => {} };
    const networkDevices = { formatAndMount: async () => {} };
    const supported = await setUp(true, true, { diskTools, networkDevices });
    expect(supported.volumes.unsupported(pod)).toEqual([]);
    const why = `volume data: type ${type} is not supported by this kubelet`;
    for (const { volumes } of [await setUp(true, true, { networkDevices }), await setUp(true, true, { diskTools })]) {
      expect(volumes.unsupported(pod)).toEqual([why]);
    }
  },
);
