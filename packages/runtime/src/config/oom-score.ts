import {
  type Container,
  type ContainerType,
  isCriticalPod,
  type Pod,
  parseQuantity,
  podQosClass,
  podRequests,
} from '@node-agent/pod-spec';

const GUARANTEED = -997;
const BEST_EFFORT = 1000;
const LEAST_BURSTABLE = 1000 + GUARANTEED;

/**
 * How willingly the kernel kills a container's processes when memory runs out, from -997 to 1000: the more memory a
 * burstable container requests, the less it is at risk (`GetContainerOOMScoreAdjust`, `pkg/kubelet/qos/policy.go`;
 * KEP-2837 for requests of the pod as a whole). A sidecar is at no more risk than the container that requests least.
 */
export function oomScoreAdjust(
  pod: Pod,
  container: Container,
  type: ContainerType,
  memoryCapacityBytes: number,
): number {
  if (isCriticalPod(pod) && pod.spec.priorityClassName === 'system-node-critical') return GUARANTEED;
  const qosClass = podQosClass(pod);
  if (qosClass === 'Guaranteed') return GUARANTEED;
  if (qosClass === 'BestEffort') return BEST_EFFORT;

  const share = unassignedRequestPerContainer(pod);
  const score = (request: bigint): number => 1000 - Number((1000n * (request + share)) / BigInt(memoryCapacityBytes));
  let adjust = score(memoryRequest(container));
  if (type === 'sidecar') {
    adjust = Math.min(adjust, Math.max(...pod.spec.containers.map((other) => score(memoryRequest(other)))));
  }
  // Above every guaranteed container, below every best-effort one.
  return Math.min(Math.max(adjust, LEAST_BURSTABLE), BEST_EFFORT - 1);
}

function memoryRequest(container: Container): bigint {
  return parseQuantity(container.resources?.requests?.memory ?? '0').value();
}

/** What the pod requests as a whole beyond its containers' requests, in equal parts. */
function unassignedRequestPerContainer(pod: Pod): bigint {
  const podRequest = parseQuantity(pod.spec.resources?.requests?.memory ?? '0').value();
  if (podRequest === 0n) return 0n;
  const assigned =
    podRequests(pod, { excludeOverhead: true, skipPodLevelResources: true }).get('memory')?.value() ?? 0n;
  return (podRequest - assigned) / BigInt(pod.spec.containers.length + (pod.spec.initContainers ?? []).length);
}
