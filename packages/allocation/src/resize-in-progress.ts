import {
  allContainers,
  cpuMemory,
  isResizable,
  type Pod,
  type RuntimePodStatus,
  sameCpuMemory,
} from '@node-agent/pod-spec';
import type { ResizeFeatures } from './allocated-pod.ts';
import type { PodResources } from './pod-resources.ts';

/**
 * Reports whether any running container does not have its allocated resources yet (`IsPodResizeInProgress` in
 * `pkg/kubelet/kuberuntime/kuberuntime_manager.go`). A container that is not running does not count, because it gets
 * its allocated resources when it starts. Difference from upstream: non-sidecar init containers are included; upstream
 * leaves them out, and so reports a resize of such a container as completed before it has begun.
 * @param pod the pod with its allocated resources
 * @param applied the resources last actuated for the pod
 */
export function isResizeInProgress(
  pod: Pod,
  status: RuntimePodStatus,
  applied: PodResources | undefined,
  features: ResizeFeatures = {},
): boolean {
  const podLevel = (features.podLevel ?? true) ? pod.spec.resources : undefined;
  // The status is sorted newest first, so of several containers with the same name, the first is the current one.
  const states = new Map(status.containers.toReversed().map(({ name, state }) => [name, state]));
  for (const { container, type } of allContainers(pod)) {
    if (!isResizable(type, features) || states.get(container.name) !== 'running') continue;
    const has = cpuMemory(applied?.containers[container.name]);
    if (!sameCpuMemory(has, cpuMemory(container.resources, podLevel))) return true;
  }
  if (podLevel === undefined || applied?.pod === undefined) return false;
  return !sameCpuMemory(cpuMemory(applied.pod), cpuMemory(podLevel));
}
