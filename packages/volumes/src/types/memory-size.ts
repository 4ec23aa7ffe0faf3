import { oncePer, type Pod, parseQuantity, podLimits, type Volume } from '@node-agent/pod-spec';

/**
 * Returns the size of an `emptyDir` in memory (upstream: `calculateEmptyDirMemorySize`): the minimum of the node's
 * allocatable memory, the pod's memory limit if each container has one, and the volume's own limit. Returns 0 if none
 * of the three is set.
 */
export function memoryVolumeBytes(pod: Pod, volume: Volume, allocatableBytes: number): number {
  const bounds = [allocatableBytes, podMemoryLimit(pod), bytesOf(volume.emptyDir?.sizeLimit)].filter(
    (bound) => bound > 0,
  );
  return bounds.length > 0 ? Math.floor(Math.min(...bounds)) : 0;
}

/** Memory limit of the pod; 0 if any container has no limit (upstream: `ResourceConfigForPod`). */
const podMemoryLimit = oncePer((pod: Pod) => {
  const { initContainers = [], containers, resources } = pod.spec;
  const isLimited = [...initContainers, ...containers].every((container) =>
    bytesOf(container.resources?.limits?.memory),
  );
  const limit = isLimited || bytesOf(resources?.limits?.memory) ? podLimits(pod).get('memory') : undefined;
  return limit === undefined ? 0 : Number(limit.value());
});

/** Converts a limit to bytes; returns 0 if there is no limit. */
function bytesOf(limit = '0'): number {
  return Number(parseQuantity(limit).value());
}
