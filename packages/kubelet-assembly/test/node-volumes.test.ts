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
async function setUp(mountsDisks: boolean) {
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
  const names: string[] = [];
  const child = (name: string) => {
    names.push(name);
    return { clock, random, metrics: noMetrics, recorder: noEvents, logger: silentLogger };
  };
  const foreignFiles = memoryForeignFiles({ clock, fs });
  const volumes = nodeVolumes(
    child,
    { fs, foreignFiles, mounter, clock, random, ...(mountsDisks && { localDevices }) },
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

it('local disks are mounted if the port exists, and log under the component volumes', async () => {
  const { volumes, mounted, names } = await setUp(true);
  await volumes.waitForAttachAndMount(POD, signal);
  expect([...mounted]).toEqual([
    ['/root/plugins/kubernetes.io/local-volume/mounts/pv-1', 'ext4'],
    ['/root/pods/uid-web/volumes/kubernetes.io~local-volume/pv-1', 'bound'],
  ]);
  expect(names).toEqual(['volumes', 'volumes']);
});

it('local PersistentVolumes are rejected without the port', async () => {
  const { volumes, mounted, names } = await setUp(false);
  const why = 'type local is not supported by this kubelet';
  await expect(volumes.waitForAttachAndMount(POD, signal)).rejects.toThrow(why);
  expect([[...mounted], names]).toEqual([[], ['volumes']]);
});
