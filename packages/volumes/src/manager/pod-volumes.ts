import type { Pod, Volume } from '@node-agent/pod-spec';

/** The names of a pod's volumes that its containers use, of any kind of container: as file systems, and as block devices. */
export interface UsedVolumes {
  readonly mounts: ReadonlySet<string>;
  readonly devices: ReadonlySet<string>;
}

/** @see UsedVolumes (`GetPodVolumeNames` of `pkg/volume/util`) */
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

/** A pod's volumes that at least one of its containers uses: the others need not be there. */
export function mountedVolumes(pod: Pod): readonly Volume[] {
  const { mounts, devices } = usedVolumes(pod);
  return (pod.spec.volumes ?? []).filter(({ name }) => mounts.has(name) || devices.has(name));
}
