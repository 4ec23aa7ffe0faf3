import type { Pod, Volume } from '@node-agent/pod-spec';

/** A pod's volumes that at least one of its containers mounts, of any kind of container: the others need not be there. */
export function mountedVolumes(pod: Pod): readonly Volume[] {
  const { initContainers = [], containers = [], ephemeralContainers = [], volumes = [] } = pod.spec;
  const used = new Set<string>();
  for (const { volumeMounts = [], volumeDevices = [] } of [...initContainers, ...containers, ...ephemeralContainers]) {
    for (const { name } of [...volumeMounts, ...volumeDevices]) used.add(name);
  }
  return volumes.filter(({ name }) => used.has(name));
}
