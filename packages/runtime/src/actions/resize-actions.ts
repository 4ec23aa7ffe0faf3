import {
  type Container,
  type ContainerType,
  type CpuMemory,
  cpuMemory,
  isResizable,
  type Pod,
  type RuntimeContainerStatus,
  sameCpuMemory,
} from '@node-agent/pod-spec';
import type { AppliedResources } from '../resize/applied-resources.ts';
import type { PodActionsDraft } from './pod-actions.ts';

/** Inputs of the resize rules, besides the pod. */
export interface ResizeContext {
  readonly applied: Pick<AppliedResources, 'appliedToContainer' | 'appliedToPod'>;
  /** Feature gate InPlacePodVerticalScalingInitContainers. */
  readonly initContainers: boolean;
  /** Feature gate InPlacePodLevelResourcesVerticalScaling. */
  readonly podLevel: boolean;
  /** Whether the values of the pod's cgroup differ from the desired ones. */
  readonly groupDiffers: boolean;
}

/** A resource update of a running container. */
export interface ContainerUpdate {
  readonly id: string;
  readonly container: Container;
  readonly type: ContainerType;
  readonly current: CpuMemory;
  readonly desired: CpuMemory;
}

/** Resources that are updated separately: the pod's cgroup is updated before or after each. */
export type ResizedResource = 'memory' | 'cpu';

const AMOUNTS = {
  memory: { limit: 'memoryLimitBytes', request: 'memoryRequestBytes' },
  cpu: { limit: 'cpuLimitMilli', request: 'cpuRequestMilli' },
} as const satisfies Record<ResizedResource, Record<'limit' | 'request', keyof CpuMemory>>;

/**
 * Adds the actions that make a running container match its pod's allocation: an in-place update with decreases before
 * increases, or a restart if the `resizePolicy` requires one (`computePodResizeAction` in
 * `pkg/kubelet/kuberuntime/kuberuntime_manager.go`).
 * @returns whether the container must be restarted
 */
export function addResize(
  pod: Pod,
  container: Container,
  type: ContainerType,
  status: RuntimeContainerStatus,
  context: ResizeContext | undefined,
  actions: PodActionsDraft,
): boolean {
  if (context === undefined || status.state !== 'running' || !isResizable(type, context)) return false;
  const desired = cpuMemory(container.resources, context.podLevel ? pod.spec.resources : undefined);
  const current = cpuMemory(context.applied.appliedToContainer(pod.metadata.uid, container.name));
  if (sameCpuMemory(current, desired)) return false;
  const changes = (resource: ResizedResource): boolean =>
    Object.values(AMOUNTS[resource]).some((amount) => desired[amount] !== current[amount]);
  const resources = (['memory', 'cpu'] as const).filter(changes);
  if (resources.some((resource) => restartsFor(container, resource))) {
    const message = `Container ${container.name} resize requires restart`;
    actions.containersToKill.set(status.id, { name: container.name, message, reason: 'Unknown' });
    actions.updatePodResources = true;
    return true;
  }
  for (const resource of resources) {
    const { limit, request } = AMOUNTS[resource];
    // Decides whether the resource decreases: by the limit, or by the request if the limit does not change.
    const amount = desired[limit] === current[limit] ? request : limit;
    const update = { id: status.id, container, type, current, desired };
    if (desired[amount] < current[amount]) actions.containersToUpdate[resource].unshift(update);
    else actions.containersToUpdate[resource].push(update);
  }
  return false;
}

/** Returns whether the pod-level resources must be updated (`computePodLevelResourcesResizeAction`). */
export function podLevelDiffers(pod: Pod, context: ResizeContext | undefined): boolean {
  if (context === undefined || !context.podLevel) return false;
  return !sameCpuMemory(cpuMemory(context.applied.appliedToPod(pod.metadata.uid)), cpuMemory(pod.spec.resources));
}

function restartsFor({ resizePolicy = [] }: Container, resource: ResizedResource): boolean {
  // A resource without a resize policy has the policy NotRequired.
  return resizePolicy.find(({ resourceName }) => resourceName === resource)?.restartPolicy === 'RestartContainer';
}
