import { isCriticalPod, type Pod, podQosClass, type QosClass } from '@node-agent/pod-spec';
import type { InsufficientResource, RequestsOf } from './resource-fit.ts';

/** Amount of a resource that must become free; CPU in millicores. */
export interface Requirement {
  readonly resource: string;
  readonly amount: bigint;
}

/** The pods to evict, or the resources that would be missing even if all preemptable pods were evicted. */
export type PreemptionPlan = { readonly victims: readonly Pod[] } | { readonly missing: readonly Requirement[] };

/** Returns the resources that must become free for a pod that does not fit. */
export function requirementsOf(short: readonly InsufficientResource[]): readonly Requirement[] {
  return short.map(({ resource, requested, used, capacity }) => ({ resource, amount: requested - (capacity - used) }));
}

/**
 * Chooses the pods to evict for a critical pod: as few Guaranteed pods as possible, then as few Burstable, then as few
 * BestEffort pods; among equal numbers, the pods with the smallest requests (`getPodsToPreempt` in
 * `pkg/kubelet/preemption/preemption.go`).
 */
export function planPreemption(
  preemptor: Pod,
  pods: readonly Pod[],
  requirements: readonly Requirement[],
  heldBy: RequestsOf,
): PreemptionPlan {
  const amountOf = amounts(heldBy);
  const candidates = pods.filter((pod) => isPreemptable(preemptor, pod));
  const missing = remaining(requirements, candidates, amountOf);
  if (missing.length > 0) return { missing };
  const ofClass = (wanted: QosClass): Pod[] => candidates.filter((pod) => podQosClass(pod) === wanted);
  const [bestEffort, burstable, guaranteed] = [ofClass('BestEffort'), ofClass('Burstable'), ofClass('Guaranteed')];
  const choose = (from: readonly Pod[], ...gone: readonly (readonly Pod[])[]): readonly Pod[] =>
    closest(from, remaining(requirements, gone.flat(), amountOf), amountOf);
  // From each class, pods are chosen only if evicting all pods of the lower classes does not suffice.
  const guaranteedToGo = choose(guaranteed, bestEffort, burstable);
  const burstableToGo = choose(burstable, bestEffort, guaranteedToGo);
  const bestEffortToGo = choose(bestEffort, burstableToGo, guaranteedToGo);
  return { victims: [...bestEffortToGo, ...burstableToGo, ...guaranteedToGo] };
}

/**
 * Returns whether a pod may be evicted for another: a critical pod preempts any non-critical pod; otherwise, the higher
 * priority decides.
 */
function isPreemptable(preemptor: Pod, other: Pod): boolean {
  if (isCriticalPod(preemptor) && !isCriticalPod(other)) return true;
  const [own, its] = [preemptor.spec.priority, other.spec.priority];
  return own !== undefined && its !== undefined && own > its;
}

/** Formats requirements as in upstream's errors. */
export function formatRequirements(requirements: readonly Requirement[]): string {
  return `[${requirements.map(({ resource, amount }) => `(res: ${resource}, q: ${amount}), `).join('')}]`;
}

type AmountOf = (pod: Pod, resource: string) => bigint;

function amounts(heldBy: RequestsOf): AmountOf {
  return (pod, resource) => {
    if (resource === 'pods') return 1n;
    const quantity = heldBy(pod).get(resource);
    return (resource === 'cpu' ? quantity?.milliValue() : quantity?.value()) ?? 0n;
  };
}

/** Returns the resources that would still be missing if the pods `gone` were evicted. */
function remaining(requirements: readonly Requirement[], gone: readonly Pod[], amountOf: AmountOf): Requirement[] {
  return requirements.flatMap(({ resource, amount }) => {
    const left = gone.reduce((sum, pod) => sum - amountOf(pod, resource), amount);
    return left > 0n ? [{ resource, amount: left }] : [];
  });
}

/** Repeatedly chooses the pod that comes closest to the missing amounts, until nothing is missing. */
function closest(from: readonly Pod[], requirements: readonly Requirement[], amountOf: AmountOf): readonly Pod[] {
  const pool = [...from];
  const chosen: Pod[] = [];
  let missing = requirements;
  while (missing.length > 0) {
    const best = pool.reduce((one, other) => {
      const gain = distanceOf(missing, one, amountOf) - distanceOf(missing, other, amountOf);
      return gain > 0 || (gain === 0 && asksForNoMore(other, one, amountOf)) ? other : one;
    });
    missing = remaining(missing, [best], amountOf);
    chosen.push(best);
    // As in upstream, the last pod of the list takes the place of the chosen pod, which determines the choice between
    // equal pods.
    pool.splice(pool.indexOf(best), 1, ...pool.slice(-1));
    pool.pop();
  }
  return chosen;
}

/**
 * Returns the distance between the resources that the eviction of a pod frees and the missing amounts. All resources
 * have the same weight, whatever their unit.
 */
function distanceOf(missing: readonly Requirement[], pod: Pod, amountOf: AmountOf): number {
  return missing.reduce((sum, { resource, amount }) => {
    const left = Math.max(0, Number(amount - amountOf(pod, resource)));
    return sum + (left / Number(amount)) ** 2;
  }, 0);
}

function asksForNoMore(one: Pod, other: Pod, amountOf: AmountOf): boolean {
  for (const resource of ['memory', 'cpu']) {
    const [a, b] = [amountOf(one, resource), amountOf(other, resource)];
    if (a < b) return true;
    if (a > b) return false;
  }
  return true;
}
