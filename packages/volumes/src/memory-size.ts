import { type Pod, parseQuantity, podLimits, type Volume } from '@node-agent/pod-spec';

/**
 * The size of an `emptyDir` in memory (`calculateEmptyDirMemorySize`): the least of what pods may use on this node,
 * the pod's memory limit where each of its containers has one, and the volume's own limit; 0 where there is none.
 */
export function memoryVolumeBytes(pod: Pod, volume: Volume, allocatableBytes: number): number {
  const bounds = [allocatableBytes, podMemoryLimit(pod), volumeLimit(volume)].filter((bound) => bound > 0);
  return bounds.length > 0 ? Math.floor(Math.min(...bounds)) : 0;
}

/** 0 where a container may use as much as it likes. */
function podMemoryLimit(pod: Pod): number {
  const containers = [...(pod.spec.initContainers ?? []), ...pod.spec.containers];
  const limited = containers.every((container) => container.resources?.limits?.memory !== undefined);
  if (!limited && pod.spec.resources?.limits?.memory === undefined) return 0;
  return Number(podLimits(pod).get('memory')?.value() ?? 0n);
}

function volumeLimit(volume: Volume): number {
  const limit = volume.emptyDir?.sizeLimit;
  return limit === undefined ? 0 : Number(parseQuantity(limit).value());
}
