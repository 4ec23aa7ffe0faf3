import type { Pod, Volume } from '@node-agent/pod-spec';

/**
 * Names of a pod's volumes that any of its containers uses: as file systems (`mounts`) and as block devices
 * (`devices`).
 */
export interface UsedVolumes {
  readonly mounts: ReadonlySet<string>;
  readonly devices: ReadonlySet<string>;
}

/** Returns the volumes that a pod's containers use (upstream: `GetPodVolumeNames` of `pkg/volume/util`). */
export function usedVolumes({ spec }: Pick<Pod, 'spec'>): UsedVolumes {
  const { initContainers = [], containers = [], ephemeralContainers = [] } = spec;
  const mounts = new Set<string>();
  const devices = new Set<string>();
  for (const { volumeMounts = [], volumeDevices = [] } of [...initContainers, ...containers, ...ephemeralContainers]) {
    for (const { name } of volumeMounts) mounts.add(name);
    for (const { name } of volumeDevices) devices.add(name);
  }
  return { mounts, devices };
}

/** Returns the volumes that at least one container of the pod uses. Unused volumes are not set up. */
export function mountedVolumes(pod: Pod): readonly Volume[] {
  const { mounts, devices } = usedVolumes(pod);
  return (pod.spec.volumes ?? []).filter(({ name }) => mounts.has(name) || devices.has(name));
}
