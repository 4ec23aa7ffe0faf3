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
 * Whether something that runs has not got yet what it was granted (`IsPodResizeInProgress` in
 * `pkg/kubelet/kuberuntime/kuberuntime_manager.go`). What does not run gets it when it starts. Upstream leaves init containers out
 * that are no sidecars, and so calls their resizes complete before they have begun.
 * @param pod as granted
 * @param applied what was applied to the pod last
 */
export function isResizeInProgress(
  pod: Pod,
  status: RuntimePodStatus,
  applied: PodResources | undefined,
  features: ResizeFeatures = {},
): boolean {
  const podLevel = (features.podLevel ?? true) ? pod.spec.resources : undefined;
  // Newest first: the first of a name is the container.
  const states = new Map(status.containers.toReversed().map(({ name, state }) => [name, state]));
  for (const { container, type } of allContainers(pod)) {
    if (!isResizable(type, features) || states.get(container.name) !== 'running') continue;
    const has = cpuMemory(applied?.containers[container.name]);
    if (!sameCpuMemory(has, cpuMemory(container.resources, podLevel))) return true;
  }
  if (podLevel === undefined || applied?.pod === undefined) return false;
  return !sameCpuMemory(cpuMemory(applied.pod), cpuMemory(podLevel));
}
