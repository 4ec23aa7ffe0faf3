import type { Pod } from '@node-agent/pod-spec';
import type { CsiDriverData, VolumeAttachmentData } from './csi-objects.ts';
import type { CsiSource } from './csi-source.ts';

/**
 * Returns why a driver does not support the volume's lifecycle (persistent or inline); `undefined` if it does. Without
 * a CSIDriver object, only persistent volumes are supported (`supportsVolumeLifecycleMode`).
 */
export function lifecycleProblem(
  { driver, lifecycle }: Pick<CsiSource, 'driver' | 'lifecycle'>,
  csiDriver: CsiDriverData | undefined,
): string | undefined {
  const refusal = `volume mode "${lifecycle}" not supported by driver ${driver}`;
  if (csiDriver === undefined) return lifecycle === 'Persistent' ? undefined : `${refusal} (no CSIDriver object)`;
  const { volumeLifecycleModes = [] } = csiDriver.spec;
  if (volumeLifecycleModes.includes(lifecycle)) return undefined;
  return `${refusal} (only supports [${volumeLifecycleModes.map((mode) => JSON.stringify(mode)).join(' ')}])`;
}

/** Returns whether a controller attaches the driver's volumes (`skipAttach`). */
export function isAttachRequired(csiDriver: CsiDriverData | undefined): boolean {
  return csiDriver?.spec.attachRequired !== false;
}

/**
 * Returns whether the kubelet gives the volume's files to the pod's fsGroup, according to the driver's `fsGroupPolicy`
 * (`supportsFSGroup`). The policy is `ReadWriteOnceWithFSType` if there is no CSIDriver object.
 */
export function takesFsGroup(
  { fsType, readOnly, accessModes, lifecycle }: Pick<CsiSource, 'fsType' | 'readOnly' | 'accessModes' | 'lifecycle'>,
  csiDriver: CsiDriverData | undefined,
): boolean {
  const policy = csiDriver?.spec.fsGroupPolicy ?? 'ReadWriteOnceWithFSType';
  if (policy === 'None' || readOnly) return false;
  if (policy === 'File') return true;
  if (fsType === '') return false;
  return lifecycle === 'Ephemeral' || (accessModes ?? []).some((mode) => mode.startsWith('ReadWriteOnce'));
}

/** Returns the volume attributes that describe the pod, for drivers with `podInfoOnMount` (`getPodInfoAttrs`). */
export function podInfo(
  { metadata, spec }: Pod,
  { lifecycle }: Pick<CsiSource, 'lifecycle'>,
): Readonly<Record<string, string>> {
  return {
    'csi.storage.k8s.io/pod.name': metadata.name,
    'csi.storage.k8s.io/pod.namespace': metadata.namespace,
    'csi.storage.k8s.io/pod.uid': metadata.uid,
    'csi.storage.k8s.io/serviceAccount.name': spec.serviceAccountName ?? '',
    'csi.storage.k8s.io/ephemeral': String(lifecycle === 'Ephemeral'),
  };
}

/**
 * Returns why a volume is not attached to this node; `undefined` if it is (`WaitForAttach`, `verifyAttachmentStatus`).
 * @param name name of the VolumeAttachment
 */
export function attachmentProblem(
  handle: string,
  name: string,
  attachment: VolumeAttachmentData | undefined,
): string | undefined {
  if (attachment === undefined) {
    const why = `volumeattachments.storage.k8s.io "${name}" not found`;
    return `volume ${handle} has GET error for volume attachment ${name}: ${why}`;
  }
  const { metadata, status } = attachment;
  if (metadata.deletionTimestamp !== undefined) return 'volume attachment is being deleted';
  if (status?.attached) return undefined;
  return status?.attachError?.message ?? `volume ${handle} is not attached for volume attachment ${name}`;
}
