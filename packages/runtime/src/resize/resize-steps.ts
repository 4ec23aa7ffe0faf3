import type { ContainerUpdate, ResizedResource } from '../actions/resize-actions.ts';

/** What a pod's group is held to, or is to be: package `cm-cgroups`. What is absent is let be; 0 sets nothing, -1 is no limit. */
export interface GroupResources {
  readonly cpuShares?: number;
  readonly cpuQuotaUs?: number;
  readonly cpuPeriodUs?: number;
  readonly memoryBytes?: number;
}

/** One thing after another makes a pod as large as it was granted. */
export type ResizeStep =
  | { readonly kind: 'group'; readonly resource: ResizedResource; readonly set: GroupResources }
  | { readonly kind: 'containers'; readonly resource: ResizedResource }
  /** The pod's own resources have been applied, as far as this one goes. */
  | { readonly kind: 'podLevel'; readonly resource: ResizedResource };

export interface ResizePlan {
  /** Absent where the runtime chooses where pods are: then there is no group to change. */
  readonly group?: { readonly held: GroupResources; readonly wanted: GroupResources };
  readonly updates: Readonly<Record<ResizedResource, readonly ContainerUpdate[]>>;
  /** Whether the group is changed though no container is updated: one begins anew, or has begun. */
  readonly updatePodResources: boolean;
  readonly updatePodLevelResources: boolean;
}

/**
 * Memory first, then CPU; of each, the group grows before its containers and shrinks after them, its limit growing before its
 * request and shrinking after it (`doPodResizeAction` in `pkg/kubelet/kuberuntime/kuberuntime_manager.go`). A limit that is not wanted
 * any more stays (k/k#128675). Upstream compares "no limit" as the number that the kernel writes it as; here it is above all others.
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

/** What the group is held to when all is done: what is not changed stays as it is. */
export function heldAfter(held: GroupResources, steps: readonly ResizeStep[]): GroupResources {
  let after = held;
  for (const step of steps) if (step.kind === 'group') after = { ...after, ...step.set };
  return after;
}

interface GroupChange {
  readonly grows: boolean;
  readonly set: GroupResources;
}

/** The limit before the request. */
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

/** Whether a group is to be held to less memory than it is now. */
export function memoryShrinks(held: GroupResources, wanted: GroupResources): boolean {
  return !!wanted.memoryBytes && amount(wanted.memoryBytes) < amount(held.memoryBytes);
}

function amount(limit: number | undefined): number {
  return limit === undefined || limit <= 0 ? Number.POSITIVE_INFINITY : limit;
}
