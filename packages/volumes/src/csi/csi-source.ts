import type { CsiAccessMode } from '@node-agent/contracts';
import type { Pod } from '@node-agent/pod-spec';
import { VolumeError } from '../errors.ts';
import type { VolumeSpec } from '../manager/resolved-volume.ts';
import { type CsiIdentity, inlineHandle } from './csi-names.ts';

/** Reference to a secret. */
export interface CsiSecretReference {
  readonly namespace: string;
  readonly name: string;
}

/** A CSI volume, combined from the pod's volume and, for a PVC, its persistent volume. */
export interface CsiSource extends CsiIdentity {
  readonly lifecycle: 'Persistent' | 'Ephemeral';
  readonly fsType: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly readOnly: boolean;
  /** Access modes of the persistent volume; absent for an inline volume. */
  readonly accessModes?: readonly string[];
  readonly mountOptions: readonly string[];
  readonly stageSecret?: CsiSecretReference;
  readonly publishSecret?: CsiSecretReference;
  readonly expandSecret?: CsiSecretReference;
  /** Whether the volume is the CSI form of a volume of an in-tree type. Default: false. */
  readonly isMigrated?: boolean;
}

/** Returns the CSI volume of a spec (`NewMounter`, `getSourceFromSpec`). @throws VolumeError `InvalidSource` */
export function csiSource(
  { volume, persistent, readOnly = false, isMigrated = false }: VolumeSpec,
  pod: Pick<Pod, 'metadata'> | undefined,
): CsiSource {
  if (persistent?.spec?.csi !== undefined) {
    return { ...persistentSource(persistent.spec, readOnly), ...(isMigrated && { isMigrated }) };
  }
  const { csi } = volume;
  if (csi === undefined || pod === undefined)
    throw new VolumeError('InvalidSource', 'volume source not found in volume.Spec');
  const { driver, fsType = '', volumeAttributes = {}, nodePublishSecretRef } = csi;
  const { uid, namespace } = pod.metadata;
  return {
    ...{ driver, handle: inlineHandle(uid, volume.name), lifecycle: 'Ephemeral', fsType },
    ...{ attributes: volumeAttributes, readOnly: csi.readOnly ?? false, mountOptions: [] },
    ...(nodePublishSecretRef && { publishSecret: { namespace, name: nodePublishSecretRef.name ?? '' } }),
  };
}

function persistentSource(
  { csi, accessModes, mountOptions = [] }: NonNullable<NonNullable<VolumeSpec['persistent']>['spec']>,
  readOnly: boolean,
): CsiSource {
  const { driver = '', volumeHandle: handle = '', fsType = '', volumeAttributes: attributes = {} } = csi ?? {};
  if (driver === '')
    throw new VolumeError('InvalidSource', 'makeDeviceMountPath failed, csi source driver name is empty');
  if (handle === '') {
    const why = 'CSIPersistentVolumeSource volume handle is empty';
    throw new VolumeError('InvalidSource', `makeDeviceMountPath failed, ${why}`);
  }
  const { nodeStageSecretRef, nodePublishSecretRef, nodeExpandSecretRef } = csi ?? {};
  return {
    ...{ driver, handle, lifecycle: 'Persistent', fsType, attributes, readOnly, mountOptions },
    ...(accessModes && { accessModes }),
    ...(nodeStageSecretRef && { stageSecret: secretOf(nodeStageSecretRef) }),
    ...(nodePublishSecretRef && { publishSecret: secretOf(nodePublishSecretRef) }),
    ...(nodeExpandSecretRef && { expandSecret: secretOf(nodeExpandSecretRef) }),
  };
}

function secretOf({
  namespace = '',
  name = '',
}: {
  readonly namespace?: string;
  readonly name?: string;
}): CsiSecretReference {
  return { namespace, name };
}

/**
 * Returns the access mode for the driver: that of the persistent volume's first access mode, or ReadWriteOnce
 * (`asCSIAccessModeV1`, `asSingleNodeMultiWriterCapableCSIAccessModeV1`).
 * @param singleNodeMultiWriter whether the driver has the capability `SINGLE_NODE_MULTI_WRITER`
 * @throws VolumeError `InvalidSource`
 */
export function csiAccessMode(
  { accessModes }: Pick<CsiSource, 'accessModes'>,
  singleNodeMultiWriter: boolean,
): CsiAccessMode {
  const [mode = 'ReadWriteOnce'] = accessModes ?? [];
  switch (mode) {
    case 'ReadWriteOnce':
      return singleNodeMultiWriter ? 'SINGLE_NODE_MULTI_WRITER' : 'SINGLE_NODE_WRITER';
    case 'ReadWriteOncePod':
      return singleNodeMultiWriter ? 'SINGLE_NODE_SINGLE_WRITER' : 'SINGLE_NODE_WRITER';
    case 'ReadOnlyMany':
      return 'MULTI_NODE_READER_ONLY';
    case 'ReadWriteMany':
      return 'MULTI_NODE_MULTI_WRITER';
    default:
      throw new VolumeError('InvalidSource', `access mode ${JSON.stringify(mode)} is not supported`);
  }
}
