import { oncePer, type Pod, parseQuantity, podLimits, type Volume } from '@node-agent/pod-spec';

/**
 * The size of an `emptyDir` in memory (`calculateEmptyDirMemorySize`): the least of what pods may use on this node,
 * the pod's memory limit where each of its containers has one, and the volume's own limit; 0 where there is none.
 */
export function memoryVolumeBytes(pod: Pod, volume: Volume, allocatableBytes: number): number {
  const bounds = [allocatableBytes, podMemoryLimit(pod), bytesOf(volume.emptyDir?.sizeLimit)].filter(
    (bound) => bound > 0,
  );
  return bounds.length > 0 ? Math.floor(Math.min(...bounds)) : 0;
}

/** 0 where a container may use as much as it likes (`ResourceConfigForPod`). */
const podMemoryLimit = oncePer((pod: Pod) => {
  const { initContainers = [], containers, resources } = pod.spec;
  const isLimited = [...initContainers, ...containers].every((container) =>
    bytesOf(container.resources?.limits?.memory),
  );
  const limit = isLimited || bytesOf(resources?.limits?.memory) ? podLimits(pod).get('memory') : undefined;
  return limit === undefined ? 0 : Number(limit.value());
});

/** A limit of 0 is none. */
function bytesOf(limit = '0'): number {
  return Number(parseQuantity(limit).value());
}
