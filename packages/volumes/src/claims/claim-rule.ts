import { matchesNodeSelectorTerms, type Pod, parseInt64, type Volume } from '@node-agent/pod-spec';
import { VolumeError } from '../errors.ts';
import { usedVolumes } from '../manager/pod-volumes.ts';
import type { VolumeSpec } from '../manager/resolved-volume.ts';
import type { ClaimData, PersistentVolumeData } from './claim-source.ts';

/** A claim is held on to under this name as long as a pod uses it. */
const PROTECTION_FINALIZER = 'kubernetes.io/pvc-protection';
/** Older than `spec.mountOptions`, and before it where both are there. */
const MOUNT_OPTIONS_ANNOTATION = 'volume.beta.kubernetes.io/mount-options';

const GID_ANNOTATION = 'pv.beta.kubernetes.io/gid';

/** The claim that a volume of a pod is of, in the pod's namespace; `undefined` for a volume without one. */
export interface ClaimReference {
  readonly name: string;
  /** Whether the pod takes it for reading only. */
  readonly readOnly: boolean;
  /** Whether it is made for this pod alone, and goes with it (`ephemeral`). */
  readonly isEphemeral: boolean;
}

/** @see ClaimReference */
export function claimOf(pod: Pick<Pod, 'metadata'>, volume: Volume): ClaimReference | undefined {
  const { persistentVolumeClaim, ephemeral, name } = volume;
  if (persistentVolumeClaim !== undefined) {
    const { claimName, readOnly = false } = persistentVolumeClaim;
    return { name: claimName, readOnly, isEphemeral: false };
  }
  if (ephemeral === undefined) return undefined;
  return { name: `${pod.metadata.name}-${name}`, readOnly: false, isEphemeral: true };
}

/**
 * What keeps a claim from being used; `undefined` where nothing does. One that is being deleted is still there for the pods that it is
 * protected for (`getPVCExtractPV`).
 */
export function claimProblem({ metadata, spec, status }: ClaimData): string | undefined {
  const isProtected = metadata.finalizers?.includes(PROTECTION_FINALIZER);
  if (metadata.deletionTimestamp !== undefined && !isProtected) return 'PVC is being deleted';
  if (status?.phase !== 'Bound') return 'PVC is not bound';
  return spec?.volumeName ? undefined : 'PVC has empty pvc.Spec.VolumeName';
}

/** Why a claim is not the one that was made for a pod (`VolumeIsForPod` of `component-helpers/storage/ephemeral`). */
export function ownerProblem(
  { metadata: claim }: ClaimData,
  { metadata: pod }: Pick<Pod, 'metadata'>,
): string | undefined {
  const controller = claim.ownerReferences?.find((owner) => owner.controller);
  if (claim.namespace === pod.namespace && controller?.uid === pod.uid) return undefined;
  const names = `PVC ${claim.namespace}/${claim.name} was not created for pod ${pod.namespace}/${pod.name}`;
  return `${names} (pod is not owner)`;
}

/** What is wrong between a persistent volume and the claim that names it (`getPVSpec`). */
export function bindingProblem(name: string, { spec }: PersistentVolumeData, claim: ClaimData): string | undefined {
  const { claimRef } = spec ?? {};
  if (claimRef === undefined) {
    return `found PV object ${name} but it has a nil pv.Spec.ClaimRef indicating it is not yet bound to the claim`;
  }
  if (claimRef.uid === claim.metadata.uid) return undefined;
  const uids = `pv.Spec.ClaimRef.UID ${claimRef.uid ?? ''} does not point to claim.UID ${claim.metadata.uid ?? ''}`;
  return `found PV object ${name} but its ${uids}`;
}

/** A file system is mounted, a block device is mapped: which of them it is must be what containers ask for (`createVolumeSpec`). */
export function modeProblem(
  name: string,
  { spec }: PersistentVolumeData,
  pod: Pod,
  volume: Volume,
): string | undefined {
  const mode = spec?.volumeMode;
  if (mode === undefined) return `cannot get volumeMode for volume: ${name}`;
  const { mounts, devices } = usedVolumes(pod);
  const said = `volume ${volume.name} has volumeMode ${mode}, but is specified in`;
  if (mounts.has(volume.name) && mode !== 'Filesystem') return `${said} volumeMounts`;
  if (devices.has(volume.name) && mode !== 'Block') return `${said} volumeDevices`;
  return undefined;
}

/** @throws VolumeError `WrongNode` for a volume that is not to be had on this node (`CheckNodeAffinity` of `component-helpers/storage/volume`) */
export function checkNodeAffinity(
  name: string,
  { spec }: PersistentVolumeData,
  labels: Readonly<Record<string, string>>,
): void {
  const required = spec?.nodeAffinity?.required;
  if (required === undefined || matchesNodeSelectorTerms(required.nodeSelectorTerms, { labels })) return;
  const message = `MountVolume.NodeAffinity check failed for volume "${name}" : no matching NodeSelectorTerms`;
  throw new VolumeError('WrongNode', message);
}

/** The options that a persistent volume is to be mounted with (`MountOptionFromSpec`). */
export function mountOptionsOf({ metadata, spec }: PersistentVolumeData): readonly string[] {
  const annotation = metadata.annotations?.[MOUNT_OPTIONS_ANNOTATION];
  const options = annotation === undefined ? (spec?.mountOptions ?? []) : annotation.split(',');
  return options.filter((option) => option !== '');
}

/** The options that a volume is mounted with for a pod: read-only where that takes it so, whatever the persistent volume says. */
export function optionsFor({ persistent, readOnly = false }: VolumeSpec): readonly string[] {
  const options = new Set(persistent && mountOptionsOf(persistent));
  if (readOnly) {
    options.delete('rw');
    options.add('ro');
  }
  return [...options].sort();
}

/** The group that who uses a persistent volume is to be in (`getExtraSupplementalGID`); `undefined` where it asks for none. */
export function volumeGid({ metadata }: PersistentVolumeData): number | undefined {
  const gid = Number(parseInt64(metadata.annotations?.[GID_ANNOTATION] ?? ''));
  return Number.isSafeInteger(gid) ? gid : undefined;
}

/** Fields of a persistent volume that are no type of it. */
const COMMON_FIELDS = new Set([
  'accessModes',
  'capacity',
  'claimRef',
  'mountOptions',
  'nodeAffinity',
  'persistentVolumeReclaimPolicy',
  'storageClassName',
  'volumeAttributesClassName',
  'volumeMode',
]);

/** The type of a persistent volume: `csi`, `nfs`, `local`, ... */
export function persistentVolumeType({ spec = {} }: PersistentVolumeData): string {
  const found = Object.entries(spec).find(([field, value]) => value !== undefined && !COMMON_FIELDS.has(field));
  return found?.[0] ?? 'unknown';
}
