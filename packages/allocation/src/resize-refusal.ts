import {
  allContainers,
  type Container,
  isCriticalPod,
  isResizable,
  type Pod,
  parseQuantity,
  podQosClass,
  sameResources,
} from '@node-agent/pod-spec';
import type { ResizeFeatures } from './allocated-pod.ts';

/** Node settings that determine whether a pod can be resized. */
export interface ResizeNode extends ResizeFeatures {
  /** Whether containers may swap: `LimitedSwap`, with a kernel that accounts swap, on cgroup v2. Default: false. */
  readonly limitedSwap?: boolean;
  /** Whether `cpuManagerPolicy` is `static`. Default: false. */
  readonly staticCpus?: boolean;
  /** Whether `memoryManagerPolicy` is `Static`. Default: false. */
  readonly staticMemory?: boolean;
  /** Whether the gate InPlacePodVerticalScalingExclusiveCPUs is on. Default: false. */
  readonly exclusiveCpus?: boolean;
  /** Whether the gate InPlacePodVerticalScalingExclusiveMemory is on. Default: false. */
  readonly exclusiveMemory?: boolean;
}

/** Reason why a resize is infeasible on this node. */
export interface ResizeRefusal {
  /** Label `reason_detail` of `kubelet_pod_infeasible_resizes_total`. */
  readonly detail: string;
  /** Message in upstream's wording. */
  readonly message: string;
}

/**
 * Returns the reason why a resize is infeasible on this node regardless of free resources; `undefined` if it is
 * feasible (`podResizesAdmitHandler` in `pkg/kubelet/allocation/handlers.go`).
 * @param pod the pod with the resources of its spec
 * @param allocated the pod with its allocated resources
 */
export function resizeRefusal(pod: Pod, allocated: Pod, node: ResizeNode = {}): ResizeRefusal | undefined {
  if (node.limitedSwap && changesSwap(pod, allocated)) {
    return { detail: 'swap_limitation', message: 'In-place resize of containers with swap is not supported.' };
  }
  if (node.podLevel === false && !sameResources(pod.spec.resources, allocated.spec.resources)) {
    return {
      detail: 'plr_feature_gate_off',
      message: 'InPlacePodLevelResourcesVerticalScaling is disabled',
    };
  }
  if (podQosClass(pod) !== 'Guaranteed') return undefined;
  if (node.staticCpus && !node.exclusiveCpus && requestsChange(pod, allocated, 'cpu', node)) {
    return {
      detail: 'guaranteed_pod_cpu_manager_static_policy',
      message: 'Resize is infeasible for Guaranteed Pods alongside CPU Manager policy "static"',
    };
  }
  if (node.staticMemory && !node.exclusiveMemory && requestsChange(pod, allocated, 'memory', node)) {
    return {
      detail: 'guaranteed_pod_memory_manager_static_policy',
      message: 'Resize is infeasible for Guaranteed Pods alongside Memory Manager policy "Static"',
    };
  }
  return undefined;
}

/**
 * Reports whether the resize changes a container's swap limit. The swap limit is derived from the memory request, and
 * cannot change while the container runs.
 */
function changesSwap(pod: Pod, allocated: Pod): boolean {
  const before = byName(allocated);
  return containersOf(pod).some((asked) => {
    const had = before.get(asked.name);
    if (had === undefined || request(asked, 'memory').equals(request(had, 'memory'))) return false;
    const restarts = had.resizePolicy?.find(({ resourceName }) => resourceName === 'memory')?.restartPolicy;
    return restarts !== 'RestartContainer' && (maySwap(pod, asked) || maySwap(allocated, had));
  });
}

function maySwap(pod: Pod, container: Container): boolean {
  if (isCriticalPod(pod) || podQosClass(pod) !== 'Burstable') return false;
  const limit = parseQuantity(container.resources?.limits?.memory ?? '0');
  // If both request and limit are absent, they count as equal: such a container may not swap.
  return !request(container, 'memory').equals(limit);
}

function requestsChange(pod: Pod, allocated: Pod, resource: 'cpu' | 'memory', features: ResizeFeatures): boolean {
  const before = byName(allocated);
  return [...allContainers(pod)].some(({ container: asked, type }) => {
    if (!isResizable(type, features)) return false;
    const had = before.get(asked.name);
    return had === undefined || !request(asked, resource).equals(request(had, resource));
  });
}

function containersOf({ spec }: Pod): readonly Container[] {
  return [...spec.containers, ...(spec.initContainers ?? [])];
}

function byName(pod: Pod): ReadonlyMap<string, Container> {
  return new Map(containersOf(pod).map((container) => [container.name, container]));
}

function request(container: Container, resource: 'cpu' | 'memory'): ReturnType<typeof parseQuantity> {
  return parseQuantity(container.resources?.requests?.[resource] ?? '0');
}
