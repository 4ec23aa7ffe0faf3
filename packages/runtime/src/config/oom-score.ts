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
 * Returns the `oom_score_adj` of a container, from -997 to 1000. The more memory a burstable container requests, the
 * later the kernel kills it (`GetContainerOOMScoreAdjust` in `pkg/kubelet/qos/policy.go`; KEP-2837 for pod-level
 * requests). A sidecar gets at most the score of the main container with the smallest request.
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
  // The score is above that of every guaranteed container and below that of every best-effort container.
  return Math.min(Math.max(adjust, LEAST_BURSTABLE), BEST_EFFORT - 1);
}

function memoryRequest(container: Container): bigint {
  return parseQuantity(container.resources?.requests?.memory ?? '0').value();
}

/** Returns an equal share per container of the pod-level request that exceeds the containers' requests. */
function unassignedRequestPerContainer(pod: Pod): bigint {
  const podRequest = parseQuantity(pod.spec.resources?.requests?.memory ?? '0').value();
  if (podRequest === 0n) return 0n;
  const assigned =
    podRequests(pod, { excludeOverhead: true, skipPodLevelResources: true }).get('memory')?.value() ?? 0n;
  return (podRequest - assigned) / BigInt(pod.spec.containers.length + (pod.spec.initContainers ?? []).length);
}
