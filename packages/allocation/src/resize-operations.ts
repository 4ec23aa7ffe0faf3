import { allContainers, type CpuMemory, cpuMemory, isResizable, type Pod, sameResources } from '@node-agent/pod-spec';
import type { ResizeFeatures } from './allocated-pod.ts';

/**
 * One change of a container's resources that a pod update requests. The fields are the labels of
 * `kubelet_container_requested_resizes_total`.
 */
export interface ResizeOperation {
  readonly resource: 'cpu' | 'memory';
  readonly requirement: 'requests' | 'limits';
  readonly operation: 'add' | 'remove' | 'increase' | 'decrease';
}

const FIGURES: readonly (readonly [keyof CpuMemory, ResizeOperation['resource'], ResizeOperation['requirement']])[] = [
  ['memoryRequestBytes', 'memory', 'requests'],
  ['memoryLimitBytes', 'memory', 'limits'],
  ['cpuRequestMilli', 'cpu', 'requests'],
  ['cpuLimitMilli', 'cpu', 'limits'],
];

/**
 * Returns the resource changes of each container in a pod update (`recordContainerResizeOperations` in
 * `pkg/kubelet/kubelet.go`).
 */
export function resizeOperations(before: Pod, after: Pod, features: ResizeFeatures = {}): readonly ResizeOperation[] {
  const now = new Map([...allContainers(after)].map(({ container }) => [container.name, container]));
  const operations: ResizeOperation[] = [];
  for (const { container, type } of allContainers(before)) {
    const next = now.get(container.name);
    if (next === undefined || !isResizable(type, features)) continue;
    const [old, wanted] = [cpuMemory(container.resources), cpuMemory(next.resources)];
    for (const [figure, resource, requirement] of FIGURES) {
      const operation = operationOf(old[figure], wanted[figure]);
      if (operation !== undefined) operations.push({ resource, requirement, operation });
    }
  }
  return operations;
}

/** Reports whether a pod update changes the pod-level resources. */
export function podLevelChanges(before: Pod, after: Pod): boolean {
  return !sameResources(before.spec.resources, after.spec.resources);
}

function operationOf(before: number, after: number): ResizeOperation['operation'] | undefined {
  if (before === after) return undefined;
  if (after === 0) return 'remove';
  if (before === 0) return 'add';
  return after < before ? 'decrease' : 'increase';
}
