import { allContainers, type Pod } from '@node-agent/pod-spec';

/**
 * Returns the names of the secrets to which a pod refers: for image pulls, in its containers' environment and in its
 * volumes. Secrets reached through a claim are not included. Source: `pkg/api/v1/pod/util.go`, VisitPodSecretNames.
 */
export function secretNames(pod: Pick<Pod, 'spec'>): ReadonlySet<string> {
  const { spec } = pod;
  const names = new Set<string | undefined>();
  for (const { name } of spec.imagePullSecrets ?? []) names.add(name);
  for (const { container } of allContainers(pod)) {
    for (const { secretRef } of container.envFrom ?? []) names.add(secretRef?.name);
    for (const { valueFrom } of container.env ?? []) names.add(valueFrom?.secretKeyRef?.name);
  }
  for (const volume of spec.volumes ?? []) {
    for (const { secret } of volume.projected?.sources ?? []) names.add(secret?.name);
    names.add(volume.secret?.secretName);
    names.add(volume.azureFile?.secretName);
    names.add(volume.cephfs?.secretRef?.name);
    names.add(volume.cinder?.secretRef?.name);
    names.add(volume.csi?.nodePublishSecretRef?.name);
    names.add(volume.flexVolume?.secretRef?.name);
    names.add(volume.iscsi?.secretRef?.name);
    names.add(volume.rbd?.secretRef?.name);
    names.add(volume.scaleIO?.secretRef?.name);
    names.add(volume.storageos?.secretRef?.name);
  }
  return named(names);
}

/**
 * Returns the names of the config maps to which a pod refers. Source: `pkg/api/v1/pod/util.go`, VisitPodConfigmapNames.
 */
export function configMapNames(pod: Pick<Pod, 'spec'>): ReadonlySet<string> {
  const { spec } = pod;
  const names = new Set<string | undefined>();
  for (const { container } of allContainers(pod)) {
    for (const { configMapRef } of container.envFrom ?? []) names.add(configMapRef?.name);
    for (const { valueFrom } of container.env ?? []) names.add(valueFrom?.configMapKeyRef?.name);
  }
  for (const volume of spec.volumes ?? []) {
    for (const { configMap } of volume.projected?.sources ?? []) names.add(configMap?.name);
    names.add(volume.configMap?.name);
  }
  return named(names);
}

/** Drops empty names, which the API's validation accepts (k/k#99454). */
function named(names: ReadonlySet<string | undefined>): ReadonlySet<string> {
  const given = new Set<string>();
  for (const name of names) if (name !== undefined && name !== '') given.add(name);
  return given;
}
