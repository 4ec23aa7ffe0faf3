import type { ContainerUpdate, ResizedResource } from '../actions/resize-actions.ts';

/**
 * Current or desired values of a pod's cgroup. Implemented by package `cm-cgroups`. Absent values are not changed; 0
 * sets nothing, -1 means no limit.
 */
export interface GroupResources {
  readonly cpuShares?: number;
  readonly cpuQuotaUs?: number;
  readonly cpuPeriodUs?: number;
  readonly memoryBytes?: number;
}

/** Steps that resize a pod to its allocation, in order. */
export type ResizeStep =
  | { readonly kind: 'group'; readonly resource: ResizedResource; readonly set: GroupResources }
  | { readonly kind: 'containers'; readonly resource: ResizedResource }
  /** Records the pod-level value of this resource, which has been applied. */
  | { readonly kind: 'podLevel'; readonly resource: ResizedResource };

export interface ResizePlan {
  /**
   * Current and desired values of the pod's cgroup; absent if the runtime chooses the cgroups of pods, so there is no
   * cgroup to change.
   */
  readonly group?: { readonly held: GroupResources; readonly wanted: GroupResources };
  readonly updates: Readonly<Record<ResizedResource, readonly ContainerUpdate[]>>;
  /** Whether the cgroup is updated although no container is, because a container is or was restarted for the resize. */
  readonly updatePodResources: boolean;
  readonly updatePodLevelResources: boolean;
}

/**
 * Returns the steps of a resize: memory first, then CPU. For each resource, the pod's cgroup grows before its
 * containers and shrinks after them; the limit of the cgroup grows before its CPU shares and shrinks after them
 * (`doPodResizeAction` in `pkg/kubelet/kuberuntime/kuberuntime_manager.go`). A limit that is no longer desired is kept
 * (k/k#128675). Upstream compares "no limit" by the number that the kernel uses for it; here "no limit" is above all
 * other values.
 */
export function resizeSteps(plan: ResizePlan): readonly ResizeStep[] {
  const { group, updates, updatePodResources, updatePodLevelResources } = plan;
  return (['memory', 'cpu'] as const).flatMap((resource) => {
    if (updates[resource].length === 0 && !updatePodResources && !updatePodLevelResources) return [];
    const changes = group === undefined ? [] : groupChanges(resource, group.held, group.wanted);
    const step = ({ set }: GroupChange): ResizeStep => ({ kind: 'group', resource, set });
    return [
      ...changes.filter(({ grows }) => grows).map(step),
      ...(updates[resource].length > 0 ? [{ kind: 'containers', resource } as const] : []),
      ...changes
        .filter(({ grows }) => !grows)
        .reverse()
        .map(step),
      ...(updatePodLevelResources ? [{ kind: 'podLevel', resource } as const] : []),
    ];
  });
}

/** Returns the cgroup's values after all steps; unchanged values are kept. */
export function groupAfter(held: GroupResources, steps: readonly ResizeStep[]): GroupResources {
  let after = held;
  for (const step of steps) if (step.kind === 'group') after = { ...after, ...step.set };
  return after;
}

interface GroupChange {
  readonly grows: boolean;
  readonly set: GroupResources;
}

/** Returns the changes of the cgroup for one resource, the limit before the CPU shares. */
function groupChanges(resource: ResizedResource, held: GroupResources, wanted: GroupResources): readonly GroupChange[] {
  if (resource === 'memory')
    return limitChange(held.memoryBytes, wanted.memoryBytes, (memoryBytes) => ({ memoryBytes }));
  const { cpuPeriodUs, cpuShares } = wanted;
  const quota = limitChange(held.cpuQuotaUs, wanted.cpuQuotaUs, (cpuQuotaUs) => ({
    cpuQuotaUs,
    ...(cpuPeriodUs && { cpuPeriodUs }),
  }));
  const sharesChange = cpuShares !== undefined && cpuShares !== held.cpuShares;
  return [...quota, ...(sharesChange ? [{ grows: cpuShares > (held.cpuShares ?? 0), set: { cpuShares } }] : [])];
}

function limitChange(
  held: number | undefined,
  wanted: number | undefined,
  set: (value: number) => GroupResources,
): readonly GroupChange[] {
  if (!wanted || amount(wanted) === amount(held)) return [];
  return [{ grows: amount(wanted) > amount(held), set: set(wanted) }];
}

/** Returns whether the memory limit of a cgroup decreases. */
export function memoryShrinks(held: GroupResources, wanted: GroupResources): boolean {
  return !!wanted.memoryBytes && amount(wanted.memoryBytes) < amount(held.memoryBytes);
}

function amount(limit: number | undefined): number {
  return limit === undefined || limit <= 0 ? Number.POSITIVE_INFINITY : limit;
}
