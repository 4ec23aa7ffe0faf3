import { createHash } from 'node:crypto';
import { NODE_NAME } from './manifest.ts';
import type { CsiDriverPlan, CsiVolumePlan } from './volume-plans.ts';

type ApiObject = Readonly<Record<string, unknown>> & {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly uid?: string; readonly namespace?: string };
};

/** Size of a new volume. */
const SIZE = '1Gi';

/** Returns the CSIDriver of a driver. */
export function driverObject({ name, attach, republish = false }: CsiDriverPlan): ApiObject {
  return {
    ...{ apiVersion: 'storage.k8s.io/v1', kind: 'CSIDriver', metadata: { name } },
    spec: {
      attachRequired: attach,
      podInfoOnMount: true,
      requiresRepublish: republish,
      volumeLifecycleModes: ['Persistent', 'Ephemeral'],
    },
  };
}

/** Returns a volume and its claim. The name of the volume is also its handle. */
export function volumeObjects(
  { name, driver, accessMode, block }: CsiVolumePlan,
  namespace: string,
): readonly ApiObject[] {
  const common = { accessModes: [accessMode], volumeMode: block ? 'Block' : 'Filesystem' };
  const claim = { name, namespace, uid: `${name}-claim` };
  return [
    {
      ...{ apiVersion: 'v1', kind: 'PersistentVolume', metadata: { name, uid: `${name}-volume` } },
      spec: { ...common, capacity: { storage: SIZE }, csi: { driver, volumeHandle: name }, claimRef: claim },
    },
    {
      ...{ apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata: claim },
      spec: { ...common, volumeName: name, resources: { requests: { storage: SIZE } } },
      status: { phase: 'Bound', capacity: { storage: SIZE } },
    },
  ];
}

/** Returns the unique name by which the node's status lists a volume. */
export function uniqueName({ driver, name }: Pick<CsiVolumePlan, 'driver' | 'name'>): string {
  return `kubernetes.io/csi/${driver}^${name}`;
}

/** Returns the VolumeAttachment that shows a volume as attached to the node. */
export function attachmentObject({ driver, name }: CsiVolumePlan): ApiObject {
  const hash = createHash('sha256').update(`${name}${driver}${NODE_NAME}`).digest('hex');
  return {
    ...{ apiVersion: 'storage.k8s.io/v1', kind: 'VolumeAttachment', metadata: { name: `csi-${hash}` } },
    spec: { attacher: driver, nodeName: NODE_NAME, source: { persistentVolumeName: name } },
    status: { attached: true },
  };
}
