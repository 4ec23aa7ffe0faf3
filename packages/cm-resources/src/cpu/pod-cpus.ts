import { type Container, isRestartableInit, type Pod } from '@node-agent/pod-spec';
import { CpuSet } from '../cpuset/cpu-set.ts';
import { emptyPool } from '../empty-pool.ts';

/** Number of exclusive CPUs that a container gets for itself; 0 if the container shares the CPUs of its pod. */
export type OwnCpus = (container: Container) => number;

/**
 * Checks that at least one CPU of a pod remains for its containers without exclusive CPUs (`validatePodScopeResources`,
 * `pkg/kubelet/cm/cpumanager/policy_static.go`).
 * @param total CPUs of the pod
 * @throws ContainerResourcesError `Refused` with reason EmptyPodSharedPoolError
 */
export function checkCpuPool({ spec }: Pod, total: number, own: OwnCpus): void {
  let exclusive = 0;
  let isShared = false;
  for (const container of spec.initContainers ?? []) {
    const cpus = own(container);
    if (isRestartableInit(container)) {
      exclusive += cpus;
      isShared ||= cpus === 0;
    } else if (cpus === 0 && exclusive >= total) {
      throw emptyPool('pod has shared init containers but no cpus available for them');
    }
  }
  for (const container of spec.containers) {
    const cpus = own(container);
    exclusive += cpus;
    isShared ||= cpus === 0;
  }
  if (!isShared || exclusive < total) return;
  throw emptyPool('sum of exclusive container cpu requests equals pod budget, leaving no cpus for shared containers');
}

/** Reports whether {@link checkCpuPool} would succeed. */
export function hasCpuPool(pod: Pod, total: number, own: OwnCpus): boolean {
  try {
    checkCpuPool(pod, total, own);
    return true;
  } catch {
    return false;
  }
}

/**
 * Divides the CPUs of a pod among its containers (`AllocatePod`, `pkg/kubelet/cm/cpumanager/policy_static.go`). Main
 * containers and sidecars without CPUs of their own share the rest. An init container may use all CPUs of the pod
 * except those of the sidecars before it.
 * @param take chooses the given number of CPUs from the available CPUs
 * @throws ContainerResourcesError `Refused` if the containers request more than the pod
 */
export function dividedCpus(
  { spec }: Pod,
  cpus: CpuSet,
  own: OwnCpus,
  take: (available: CpuSet, count: number) => CpuSet,
): ReadonlyMap<string, CpuSet> {
  const divided = new Map<string, CpuSet>();
  let ofSidecars = CpuSet.empty;
  for (const container of spec.initContainers ?? []) {
    const count = own(container);
    const usable = cpus.difference(ofSidecars);
    if (count > 0) divided.set(container.name, take(usable, count));
    else if (!isRestartableInit(container)) divided.set(container.name, usable);
    if (isRestartableInit(container)) ofSidecars = ofSidecars.union(divided.get(container.name) ?? CpuSet.empty);
  }
  let shared = cpus.difference(ofSidecars);
  for (const container of spec.containers) {
    const count = own(container);
    if (count === 0) continue;
    const taken = take(shared, count);
    divided.set(container.name, taken);
    shared = shared.difference(taken);
  }
  for (const { name } of [...(spec.initContainers ?? []), ...spec.containers]) {
    if (!divided.has(name)) divided.set(name, shared);
  }
  return divided;
}
