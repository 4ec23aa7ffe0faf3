import type { Container, EphemeralContainer, Pod, Volume } from '@node-agent/pod-spec';
import type { FieldProblem } from './pod-schema.ts';

/** A pod field that refers to an API object, with upstream's name of the object's resource. */
interface ApiReference {
  readonly field: string;
  readonly resource: string;
}

/**
 * Returns the first field of a static pod that refers to an API object, because static pods must run without the API
 * server. Such fields are a service account, secrets, config maps, resource claims, and volumes that are API objects
 * (`HasAPIObjectReference`, feature `PreventStaticPodAPIReferences`).
 */
export function staticPodReferenceProblem(pod: Pod): FieldProblem | undefined {
  const found = apiReferences(pod).next().value;
  return found && { field: found.field, message: `static pods may not reference ${found.resource}` };
}

function* apiReferences({ spec }: Pod): Generator<ApiReference, undefined> {
  if (spec.serviceAccountName || spec.serviceAccount) {
    yield { field: 'spec.serviceAccountName', resource: 'serviceaccounts' };
  }
  if (spec.imagePullSecrets?.some(({ name }) => name)) yield { field: 'spec.imagePullSecrets', resource: 'secrets' };
  const groups = {
    initContainers: spec.initContainers,
    containers: spec.containers,
    ephemeralContainers: spec.ephemeralContainers,
  };
  for (const [group, containers] of Object.entries(groups)) {
    for (const [index, container] of (containers ?? []).entries()) {
      yield* containerReferences(container, `spec.${group}[${index}]`);
    }
  }
  if (spec.resourceClaims?.length) yield { field: 'spec.resourceClaims', resource: 'resourceclaims' };
  for (const [index, volume] of (spec.volumes ?? []).entries()) {
    yield* volumeReferences(volume, `spec.volumes[${index}]`);
  }
  return undefined;
}

function* containerReferences(container: Container | EphemeralContainer, at: string): Generator<ApiReference> {
  for (const [index, { secretRef, configMapRef }] of (container.envFrom ?? []).entries()) {
    if (secretRef?.name) yield { field: `${at}.envFrom[${index}].secretRef`, resource: 'secrets' };
    if (configMapRef?.name) yield { field: `${at}.envFrom[${index}].configMapRef`, resource: 'configmaps' };
  }
  for (const [index, { valueFrom }] of (container.env ?? []).entries()) {
    const field = `${at}.env[${index}].valueFrom`;
    if (valueFrom?.secretKeyRef?.name) yield { field: `${field}.secretKeyRef`, resource: 'secrets' };
    if (valueFrom?.configMapKeyRef?.name) yield { field: `${field}.configMapKeyRef`, resource: 'configmaps' };
  }
}

function* volumeReferences(volume: Volume, at: string): Generator<ApiReference> {
  const whole: Readonly<Partial<Record<keyof Volume, string>>> = {
    configMap: 'configmaps (via configmap volumes)',
    secret: 'secrets (via secret volumes)',
    csi: 'csidrivers (via CSI volumes)',
    glusterfs: 'endpoints (via glusterFS volumes)',
    persistentVolumeClaim: 'persistentvolumeclaims',
    ephemeral: 'persistentvolumeclaims (via ephemeral volumes)',
    azureFile: 'secrets (via azureFile volumes)',
  };
  for (const [type, resource] of Object.entries(whole)) {
    if (Object.hasOwn(volume, type)) yield { field: `${at}.${type}`, resource };
  }
  const { cephfs, cinder, flexVolume, iscsi, rbd, scaleIO, storageos } = volume;
  const withSecret = { cephfs, cinder, flexVolume, iscsi, rbd, scaleIO, storageos };
  for (const [type, source] of Object.entries(withSecret)) {
    if (source?.secretRef?.name) yield { field: `${at}.${type}.secretRef`, resource: 'secrets' };
  }
  for (const [index, source] of (volume.projected?.sources ?? []).entries()) {
    const projected: Readonly<Partial<Record<keyof typeof source, string>>> = {
      configMap: 'configmaps (via projected volumes)',
      secret: 'secrets (via projected volumes)',
      serviceAccountToken: 'serviceaccounts (via projected volumes)',
      clusterTrustBundle: 'clustertrustbundles',
      podCertificate: 'podcertificates',
    };
    for (const [type, resource] of Object.entries(projected)) {
      if (Object.hasOwn(source, type)) yield { field: `${at}.projected.sources[${index}].${type}`, resource };
    }
  }
}
