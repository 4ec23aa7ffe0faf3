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

/** What of the node decides whether a pod can be resized at all. */
export interface ResizeNode extends ResizeFeatures {
  /** Whether containers may swap: `LimitedSwap`, with a kernel that accounts it, on cgroup v2; false by default. */
  readonly limitedSwap?: boolean;
  /** `cpuManagerPolicy` is `static`; false by default. */
  readonly staticCpus?: boolean;
  /** `memoryManagerPolicy` is `Static`; false by default. */
  readonly staticMemory?: boolean;
  /** InPlacePodVerticalScalingExclusiveCPUs; false by default. */
  readonly exclusiveCpus?: boolean;
  /** InPlacePodVerticalScalingExclusiveMemory; false by default. */
  readonly exclusiveMemory?: boolean;
}

/** Why a resize will never be possible here. */
export interface ResizeRefusal {
  /** The label `reason_detail` of `kubelet_pod_infeasible_resizes_total`. */
  readonly detail: string;
  /** Upstream's words. */
  readonly message: string;
}

/**
 * Why this node cannot give a pod what it asks for, however much room there is; `undefined` where it can
 * (`podResizesAdmitHandler` in `pkg/kubelet/allocation/handlers.go`).
 * @param pod as its spec asks
 * @param granted the same with what it has
 */
export function resizeRefusal(pod: Pod, granted: Pod, node: ResizeNode = {}): ResizeRefusal | undefined {
  if (node.limitedSwap && changesSwap(pod, granted)) {
    return { detail: 'swap_limitation', message: 'In-place resize of containers with swap is not supported.' };
  }
  if (node.podLevel === false && !sameResources(pod.spec.resources, granted.spec.resources)) {
    return {
      detail: 'plr_feature_gate_off',
      message: 'InPlacePodLevelResourcesVerticalScaling is disabled',
    };
  }
  if (podQosClass(pod) !== 'Guaranteed') return undefined;
  if (node.staticCpus && !node.exclusiveCpus && requestsChange(pod, granted, 'cpu', node)) {
    return {
      detail: 'guaranteed_pod_cpu_manager_static_policy',
      message: 'Resize is infeasible for Guaranteed Pods alongside CPU Manager policy "static"',
    };
  }
  if (node.staticMemory && !node.exclusiveMemory && requestsChange(pod, granted, 'memory', node)) {
    return {
      detail: 'guaranteed_pod_memory_manager_static_policy',
      message: 'Resize is infeasible for Guaranteed Pods alongside Memory Manager policy "Static"',
    };
  }
  return undefined;
}

/** A container's share of the swap follows from its memory request, and cannot change while it runs. */
function changesSwap(pod: Pod, granted: Pod): boolean {
  const before = byName(granted);
  return containersOf(pod).some((asked) => {
    const had = before.get(asked.name);
    if (had === undefined || request(asked, 'memory').equals(request(had, 'memory'))) return false;
    const restarts = had.resizePolicy?.find(({ resourceName }) => resourceName === 'memory')?.restartPolicy;
    return restarts !== 'RestartContainer' && (maySwap(pod, asked) || maySwap(granted, had));
  });
}

function maySwap(pod: Pod, container: Container): boolean {
  if (isCriticalPod(pod) || podQosClass(pod) !== 'Burstable') return false;
  const limit = parseQuantity(container.resources?.limits?.memory ?? '0');
  // Equal says that it asked for none, too.
  return !request(container, 'memory').equals(limit);
}

function requestsChange(pod: Pod, granted: Pod, resource: 'cpu' | 'memory', features: ResizeFeatures): boolean {
  const before = byName(granted);
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
