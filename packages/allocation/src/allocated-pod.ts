import {
  allContainers,
  type Container,
  isResizable,
  oncePer,
  type Pod,
  podRequests,
  type ResourceList,
  type ResourceRequirements,
  sameResources,
} from '@node-agent/pod-spec';
import type { PodResources } from './pod-resources.ts';

/** Feature gates of resizes. Default: upstream's defaults in Kubernetes 1.36. */
export interface ResizeFeatures {
  /** Whether the gate InPlacePodVerticalScalingInitContainers is on. Default: true. */
  readonly initContainers?: boolean;
  /** Whether the gate InPlacePodLevelResourcesVerticalScaling is on. Default: true. */
  readonly podLevel?: boolean;
}

/**
 * Returns the resources of a pod's spec in the form of an allocation (`allocationFromPod` in
 * `pkg/kubelet/allocation/allocation_manager.go`).
 */
export function resourcesOf(pod: Pod, { initContainers = true, podLevel = true }: ResizeFeatures = {}): PodResources {
  const containers: Record<string, ResourceRequirements> = {};
  for (const { container, type } of allContainers(pod)) {
    if (!isResizable(type, { initContainers })) continue;
    containers[container.name] = ('resources' in container && container.resources) || {};
  }
  return { containers, ...(podLevel && pod.spec.resources !== undefined && { pod: pod.spec.resources }) };
}

/**
 * Returns the pod with its allocated resources instead of those of its spec; returns the same object if both are equal
 * (upstream: `updatePodFromAllocation`).
 */
export function withResources(pod: Pod, allocated: PodResources, { podLevel = true }: ResizeFeatures = {}): Pod {
  let spec = pod.spec;
  if (podLevel && !sameResources(spec.resources, allocated.pod)) {
    const { resources: _asked, ...rest } = spec;
    spec = allocated.pod === undefined ? rest : { ...rest, resources: allocated.pod };
  }
  const containers = spec.containers.map((container) => withContainerResources(container, allocated));
  if (containers.some((container, index) => container !== spec.containers[index])) spec = { ...spec, containers };
  const before = spec.initContainers;
  const initContainers = before?.map((container) => withContainerResources(container, allocated));
  if (initContainers?.some((container, index) => container !== before?.[index])) spec = { ...spec, initContainers };
  return spec === pod.spec ? pod : { ...pod, spec };
}

function withContainerResources(container: Container, { containers }: PodResources): Container {
  const allocated = Object.hasOwn(containers, container.name) ? containers[container.name] : undefined;
  if (allocated === undefined || sameResources(container.resources, allocated)) return container;
  return { ...container, resources: allocated };
}

/**
 * Reports whether a pod requests more CPU or memory than is allocated to it (upstream: `isResizeIncreasingRequests`).
 */
export function asksForMore(pod: Pod, allocated: Pod): boolean {
  return isMore(requestsOf(pod), requestsOf(allocated));
}

/** Computed once per pod, because all pending resizes are compared again whenever resources become free. */
const requestsOf = oncePer((pod: Pod) => podRequests(pod));

/**
 * Reports whether a pod's status shows less CPU or memory than before, because a resize was actuated. The specs of both
 * arguments must contain the allocated resources.
 */
export function holdsLess(before: Pod, pod: Pod): boolean {
  const held = (of: Pod): ResourceList => podRequests(of, { useStatusResources: true });
  return isMore(held(before), held(pod));
}

function isMore(one: ResourceList, other: ResourceList): boolean {
  return ['cpu', 'memory'].some((name) => {
    const amount = one.get(name);
    const less = other.get(name);
    return amount !== undefined && (less === undefined ? !amount.isZero : amount.compare(less) > 0);
  });
}
