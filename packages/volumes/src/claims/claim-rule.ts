import { matchesNodeSelectorTerms, type Pod, parseInt64, type Volume } from '@node-agent/pod-spec';
import { VolumeError } from '../errors.ts';
import { usedVolumes } from '../manager/pod-volumes.ts';
import type { VolumeSpec } from '../manager/resolved-volume.ts';
import type { ClaimData, PersistentVolumeData } from './claim-source.ts';

/** Finalizer that keeps a PVC while any pod uses it. */
const PROTECTION_FINALIZER = 'kubernetes.io/pvc-protection';
/** Annotation with mount options, older than `spec.mountOptions`. The annotation takes precedence over the field. */
const MOUNT_OPTIONS_ANNOTATION = 'volume.beta.kubernetes.io/mount-options';

const GID_ANNOTATION = 'pv.beta.kubernetes.io/gid';

/** Reference of a pod's volume to a PVC in the pod's namespace. */
export interface ClaimReference {
  readonly name: string;
  /** Whether the pod uses the PVC read-only. */
  readonly readOnly: boolean;
  /** Whether the PVC was created for this pod and is deleted with it (`ephemeral` volume). */
  readonly isEphemeral: boolean;
}

/** Returns the PVC to which a volume refers; `undefined` for a volume without a PVC. */
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
 * Returns why a PVC cannot be used; `undefined` if it can. A PVC that is being deleted can still be used while it has
 * the protection finalizer (upstream: `getPVCExtractPV`).
 */
export function claimProblem({ metadata, spec, status }: ClaimData): string | undefined {
  const isProtected = metadata.finalizers?.includes(PROTECTION_FINALIZER);
  if (metadata.deletionTimestamp !== undefined && !isProtected) return 'PVC is being deleted';
  if (status?.phase !== 'Bound') return 'PVC is not bound';
  return spec?.volumeName ? undefined : 'PVC has empty pvc.Spec.VolumeName';
}

/**
 * Returns why a PVC was not created for this pod; `undefined` if it was (`VolumeIsForPod` of
 * `component-helpers/storage/ephemeral`).
 */
export function ownerProblem(
  { metadata: claim }: ClaimData,
  { metadata: pod }: Pick<Pod, 'metadata'>,
): string | undefined {
  const controller = claim.ownerReferences?.find((owner) => owner.controller);
  if (claim.namespace === pod.namespace && controller?.uid === pod.uid) return undefined;
  const names = `PVC ${claim.namespace}/${claim.name} was not created for pod ${pod.namespace}/${pod.name}`;
  return `${names} (pod is not owner)`;
}

/**
 * Returns why a persistent volume is not bound to the PVC that names it; `undefined` if it is (upstream: `getPVSpec`).
 */
export function bindingProblem(name: string, { spec }: PersistentVolumeData, claim: ClaimData): string | undefined {
  const { claimRef } = spec ?? {};
  if (claimRef === undefined) {
    return `found PV object ${name} but it has a nil pv.Spec.ClaimRef indicating it is not yet bound to the claim`;
  }
  if (claimRef.uid === claim.metadata.uid) return undefined;
  const uids = `pv.Spec.ClaimRef.UID ${claimRef.uid ?? ''} does not point to claim.UID ${claim.metadata.uid ?? ''}`;
  return `found PV object ${name} but its ${uids}`;
}

/**
 * Returns why the volume mode does not match the containers' use; `undefined` if it does. Volumes of mode `Filesystem`
 * must be in volumeMounts, volumes of mode `Block` in volumeDevices (upstream: `createVolumeSpec`).
 */
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

/**
 * @throws VolumeError `WrongNode` if the persistent volume's node affinity excludes this node (`CheckNodeAffinity` of
 * `component-helpers/storage/volume`)
 */
export function checkNodeAffinity(
  name: string,
  { spec }: PersistentVolumeData,
  labels: Readonly<Record<string, string>>,
): void {
  const required = spec?.nodeAffinity?.required;
  if (required === undefined || matchesNodeSelectorTerms(required.nodeSelectorTerms, { labels })) return;
  const operation = spec?.volumeMode === 'Block' ? 'MapVolume' : 'MountVolume';
  const message = `${operation}.NodeAffinity check failed for volume "${name}" : no matching NodeSelectorTerms`;
  throw new VolumeError('WrongNode', message);
}

/** Returns the mount options of a persistent volume (upstream: `MountOptionFromSpec`). */
export function mountOptionsOf({ metadata, spec }: PersistentVolumeData): readonly string[] {
  const annotation = metadata.annotations?.[MOUNT_OPTIONS_ANNOTATION];
  const options = annotation === undefined ? (spec?.mountOptions ?? []) : annotation.split(',');
  return options.filter((option) => option !== '');
}

/**
 * Returns the mount options of a volume for a pod. If the pod uses the volume read-only, `ro` replaces `rw`, whatever
 * the persistent volume says.
 */
export function optionsFor({ persistent, readOnly = false }: VolumeSpec): readonly string[] {
  // An entry of the mount options may contain several options, separated by commas.
  const options = new Set(persistent && mountOptionsOf(persistent).flatMap((entry) => entry.split(',')));
  options.delete('');
  if (readOnly) {
    options.delete('rw');
    options.add('ro');
  }
  return [...options].sort();
}

/**
 * Returns the supplemental group that a persistent volume requests for the processes that use it; `undefined` if it
 * requests none (upstream: `getExtraSupplementalGID`).
 */
export function volumeGid({ metadata }: PersistentVolumeData): number | undefined {
  const gid = Number(parseInt64(metadata.annotations?.[GID_ANNOTATION] ?? ''));
  return Number.isSafeInteger(gid) ? gid : undefined;
}

/** Returns whether the volume's only access mode is ReadWriteOncePod. */
export function isReadWriteOncePod({ persistent }: VolumeSpec): boolean {
  const modes = persistent?.spec?.accessModes ?? [];
  return modes.length === 1 && modes[0] === 'ReadWriteOncePod';
}

/** Fields of a persistent volume's spec that do not name its type. */
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

/** Returns the type of a persistent volume: `csi`, `nfs`, `local`, ... */
export function persistentVolumeType({ spec = {} }: PersistentVolumeData): string {
  const found = Object.entries(spec).find(([field, value]) => value !== undefined && !COMMON_FIELDS.has(field));
  return found?.[0] ?? 'unknown';
}
