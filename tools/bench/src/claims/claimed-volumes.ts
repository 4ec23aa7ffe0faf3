import { type KubeClients, KubeError, resources } from '@node-agent/kube-client';
import type { PodSpec } from '@node-agent/pod-spec';
import type { DriverProcess } from '@node-agent/tools-csi-driver';
import { PLAIN } from '../cluster/cluster-pods.ts';
import { until } from '../waiting.ts';

const NAMESPACE = 'default';
const SIZE = { storage: '16Mi' };
const MODES = { accessModes: ['ReadWriteOnce'], volumeMode: 'Filesystem', storageClassName: '' };

/** Name of the driver of both kubelets. */
export const DRIVER = 'bench.csi.example.com';

type Client = KubeClients['requests'];

/** Creates the driver's CSIDriver object unless it exists. Volumes need no attachment. */
export async function createCsiDriver(client: Client): Promise<void> {
  const spec = { attachRequired: false, podInfoOnMount: false, fsGroupPolicy: 'File' };
  try {
    await client.create(resources.csiDrivers, { metadata: { name: DRIVER }, spec });
  } catch (error) {
    if (!KubeError.is(error) || error.code !== 'AlreadyExists') throw error;
  }
}

/** Waits until the kubelet has registered the driver for the node. */
export async function driverRegistered(client: Client, nodeName: string, signal: AbortSignal): Promise<void> {
  const isThere = async (): Promise<boolean> => {
    const node = await client.get(resources.csiNodes, { name: nodeName }).catch(() => undefined);
    return node?.spec.drivers?.some(({ name }) => name === DRIVER) ?? false;
  };
  await until(`${DRIVER} is registered on ${nodeName}`, isThere, signal, { everyMs: 100 });
}

/**
 * Creates volumes of the driver, and for each a PersistentVolume and a claim of the same name. Resolves when the
 * controller manager has bound all claims.
 */
export async function createClaims(
  client: Client,
  driver: DriverProcess,
  names: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  for (const name of names) {
    const volumeHandle = await driver.createVolume(name);
    await client.create(resources.persistentVolumes, {
      metadata: { name },
      spec: {
        ...{ ...MODES, capacity: SIZE, persistentVolumeReclaimPolicy: 'Retain' },
        claimRef: { namespace: NAMESPACE, name },
        csi: { driver: DRIVER, volumeHandle },
      },
    });
    await client.create(resources.persistentVolumeClaims, {
      metadata: { namespace: NAMESPACE, name },
      spec: { ...MODES, volumeName: name, resources: { requests: SIZE } },
    });
  }
  const wanted = new Set(names);
  const areBound = async (): Promise<boolean> => {
    const { items } = await client.list(resources.persistentVolumeClaims, { namespace: NAMESPACE });
    return (
      items.filter(({ metadata, status }) => wanted.has(metadata.name ?? '') && status?.phase === 'Bound').length ===
      names.length
    );
  };
  await until(`${names.length} claims are bound`, areBound, signal, { everyMs: 500, timeoutMs: 300_000 });
}

/** Deletes claims and their PersistentVolumes. */
export async function deleteClaims(client: Client, names: readonly string[]): Promise<void> {
  for (const name of names) {
    await client.delete(resources.persistentVolumeClaims, { namespace: NAMESPACE, name });
    await client.delete(resources.persistentVolumes, { name });
  }
}

/** Returns the spec of a pod that mounts the claim of the given name. */
export function claimingPod(claimName: string): PodSpec {
  const volumeMounts = [{ name: 'data', mountPath: '/data' }];
  return {
    ...PLAIN,
    containers: PLAIN.containers.map((container) => ({ ...container, volumeMounts })),
    volumes: [{ name: 'data', persistentVolumeClaim: { claimName } }],
  };
}
