import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { DriverProcess, type DriverProcessOptions, type VolumeWish } from '@node-agent/tools-csi-driver';
import { script } from '../e2e/test-node.ts';
import type { TestCluster } from './test-cluster.ts';
import { FOREVER } from './workloads.ts';

const exec = promisify(execFile);
const CLAIMS = '/api/v1/namespaces/default/persistentvolumeclaims';
const ATTACHMENTS = '/apis/storage.k8s.io/v1/volumeattachments';

/** Node ID of the test's drivers, which differs from the node's name. */
export const NODE_ID = 'node-id-of-e2e';

/** Starts a driver for a cluster, and creates its CSIDriver object. */
export async function startDriver(
  it: TestCluster,
  driverName: string,
  spec: object,
  options: Partial<DriverProcessOptions> = {},
): Promise<DriverProcess> {
  const registryDirectory = join(it.node.rootDir, 'plugins_registry');
  const directory = join(it.directory, driverName.replace(/\..*/, ''));
  const driver = new DriverProcess({ directory, driverName, nodeId: NODE_ID, registryDirectory, ...options });
  await it.create('/apis/storage.k8s.io/v1/csidrivers', {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'CSIDriver',
    metadata: { name: driverName },
    spec: { attachRequired: false, ...spec },
  });
  try {
    await driver.start();
    await it.until(`driver ${driverName} in CSINode`, async () => {
      const node = await csiNode(it);
      return node?.spec.drivers?.some(({ name }) => name === driverName) || undefined;
    });
  } catch (error) {
    await driver.stop();
    throw error;
  }
  return driver;
}

/** CSINode object, reduced to the fields that tests use. */
interface CsiNode {
  readonly metadata: {
    readonly annotations?: Readonly<Record<string, string>>;
    readonly ownerReferences?: readonly { readonly kind: string; readonly name: string }[];
  };
  readonly spec: {
    readonly drivers?: readonly {
      readonly name: string;
      readonly nodeID: string;
      readonly topologyKeys?: readonly string[] | null;
      readonly allocatable?: { readonly count?: number };
    }[];
  };
}

export function csiNode(it: TestCluster): Promise<CsiNode | undefined> {
  return it.get<CsiNode>('/apis/storage.k8s.io/v1/csinodes/e2e');
}

/** Creates a volume of a driver, a PersistentVolume for it, and a claim that is bound to it. @returns the volume ID */
export async function createClaim(
  it: TestCluster,
  driver: DriverProcess,
  driverName: string,
  name: string,
  wish: VolumeWish & { readonly accessModes?: readonly string[]; readonly csi?: object; readonly spec?: object } = {},
): Promise<string> {
  const { accessModes = ['ReadWriteOnce'], csi, spec, isBlock, fsType } = wish;
  const volumeHandle = await driver.createVolume(name, wish);
  const volumeMode = isBlock ? 'Block' : 'Filesystem';
  await it.create('/api/v1/persistentvolumes', {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name },
    spec: {
      ...{ capacity: { storage: '16Mi' }, accessModes, volumeMode, storageClassName: '' },
      persistentVolumeReclaimPolicy: 'Retain',
      csi: { driver: driverName, volumeHandle, ...(fsType !== undefined && { fsType }), ...csi },
      ...spec,
    },
  });
  const resources = { requests: { storage: '16Mi' } };
  await it.create(CLAIMS, {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name },
    spec: { accessModes, volumeMode, storageClassName: '', volumeName: name, resources },
  });
  return volumeHandle;
}

/** Volume of a pod. */
export interface PodVolume {
  readonly name: string;
  readonly [source: string]: unknown;
}

/** Returns a volume of a pod that uses the claim with the volume's name. */
export const claimed = (name: string): PodVolume => ({
  name,
  persistentVolumeClaim: { claimName: name },
});

/** Returns the spec of a pod that runs a script and then stays. Each volume is mounted at `/<volume name>`. */
export function podSpec(text: string, volumes: readonly PodVolume[], more: object = {}): object {
  const volumeMounts = volumes.map(({ name }) => ({ name, mountPath: `/${name}` }));
  return { containers: [script('c', `${text}; ${FOREVER}`, { volumeMounts })], volumes, ...more };
}

/** Mounts and loop devices of a test, each as a line of text. */
export async function storageOf(it: TestCluster): Promise<readonly string[]> {
  const table = await readFile('/proc/self/mountinfo', 'utf8');
  const mounts = table.split('\n').filter((line) => line.split(' ')[4]?.startsWith(`${it.node.rootDir}/`));
  const { stdout } = await exec('losetup', ['--list', '--noheadings', '--output', 'NAME,BACK-FILE']);
  return [...mounts, ...stdout.split('\n').filter((line) => line.includes(it.directory))].sort();
}

/** Returns the ID and the mount point of each mount of a volume below the kubelet's root directory. */
export async function mountsOf(it: TestCluster, name: string): Promise<readonly string[]> {
  const table = await readFile('/proc/self/mountinfo', 'utf8');
  return table.split('\n').flatMap((line) => {
    const [id, , , , point = ''] = line.split(' ');
    return point.startsWith(`${it.node.rootDir}/`) && point.includes(name) ? [`${id} ${point}`] : [];
  });
}

/** Waits until neither mounts nor loop devices nor directories of CSI volumes are left, except those in `before`. */
export async function storageGone(it: TestCluster, before: readonly string[]): Promise<void> {
  await it.until('no volume to be mounted', async () => {
    const left = (await storageOf(it)).filter((line) => !before.includes(line));
    if (left.length > 0) throw new Error(left.join('\n'));
    return true;
  });
  await it.until('no directory of a volume to be left', async () => {
    const left = await csiDirectories(it);
    if (left.length > 0) throw new Error(left.join('\n'));
    return true;
  });
}

/** Returns the directories of volumes below `plugins/kubernetes.io/csi`. */
async function csiDirectories(it: TestCluster): Promise<readonly string[]> {
  const top = join(it.node.rootDir, 'plugins/kubernetes.io/csi');
  const drivers = await readdir(top).catch(() => []);
  const found = await Promise.all(
    drivers.map(async (name) => (await readdir(join(top, name))).map((one) => `${name}/${one}`)),
  );
  // Upstream keeps the parents of the directories of block volumes.
  return found.flat().filter((path) => !/^volumeDevices\/(publish|staging)$/.test(path));
}

/** Returns how often each RPC was called for a volume. */
export async function callsOf(driver: DriverProcess, volumeId: string): Promise<Readonly<Record<string, number>>> {
  const counts: Record<string, number> = {};
  for (const { rpc, request } of await driver.calls()) {
    if (request.volumeId === volumeId && rpc.startsWith('Node')) counts[rpc] = (counts[rpc] ?? 0) + 1;
  }
  return counts;
}

/** Lists each called RPC of the CSI Node service with the number of its calls. */
export async function nodeCalls(driver: DriverProcess): Promise<string> {
  const counts = new Map<string, number>();
  for (const { rpc } of await driver.calls()) {
    if (rpc.startsWith('Node')) counts.set(rpc, (counts.get(rpc) ?? 0) + 1);
  }
  return [...counts].map(([rpc, count]) => `${rpc} ${count}`).join(', ');
}

/** VolumeAttachment object, reduced to the fields that tests use. */
interface VolumeAttachment {
  readonly metadata: { readonly name: string; readonly deletionTimestamp?: string };
  readonly spec: { readonly attacher: string; readonly source: { readonly persistentVolumeName?: string } };
  readonly status?: { readonly attached: boolean };
}

/** Waits for the VolumeAttachment of a volume, and reports that the volume is attached, as an external attacher does. */
export async function attach(
  it: TestCluster,
  volumeName: string,
  metadata: Readonly<Record<string, string>>,
): Promise<string> {
  const { metadata: found } = await it.until(`VolumeAttachment of ${volumeName}`, async () =>
    (await attachments(it)).find(({ spec }) => spec.source.persistentVolumeName === volumeName),
  );
  const status = { attached: true, attachmentMetadata: metadata };
  await it.plane.kubectl([
    ...['patch', 'volumeattachment', found.name, '--subresource=status', '--type=merge'],
    ...['--patch', JSON.stringify({ status })],
  ]);
  return found.name;
}

export async function attachments(it: TestCluster): Promise<readonly VolumeAttachment[]> {
  return (await it.get<{ readonly items: readonly VolumeAttachment[] }>(ATTACHMENTS))?.items ?? [];
}
