import type { Facts } from '../facts/facts.ts';
import type { NumaPolicies, WholePlan } from '../scenario/numa-plans.ts';
import { findPlan, type PodPlan } from '../scenario/plans.ts';
import type { Life } from '../world/ledger.ts';

/** Whose CPUs or memory a container uses: exclusive ones, those that its pod shares, or those that the node shares. */
export type Share = 'own' | 'pod' | 'node';

/** Returns the policies of the current kubelet. */
export function policiesOf({ node, numa }: Facts): NumaPolicies {
  const { policies = [] } = node.numa ?? {};
  return policies[Math.min(numa.changes, policies.length - 1)] as NumaPolicies;
}

/**
 * Reports whether CPUs and memory are allocated to a pod as a whole. Only the scope `pod` does so (`admitUsingPodResources`,
 * `pkg/kubelet/cm/topologymanager/scope_pod.go`). The topology policy `none` has no scope.
 */
export function isWhole(pod: PodPlan | undefined, { podLevel, scope, topology }: NumaPolicies): boolean {
  return pod?.podLevel !== undefined && podLevel === true && scope === 'pod' && topology !== 'none';
}

/** Returns whose CPUs a container uses. Ephemeral containers use those of the node. */
export function cpuShare(pod: PodPlan | undefined, name: string, policies: NumaPolicies): Share {
  if (policies.cpu !== 'static' || !isManaged(pod, policies) || findPlan(pod, name) === undefined) return 'node';
  const own = wholeCpus(pod?.whole?.[name]) > 0;
  if (!isWhole(pod, policies)) return own ? 'own' : 'node';
  if (wholeCpus(pod?.podLevel) === 0) return 'node';
  return own ? 'own' : 'pod';
}

/** Returns whose memory a container uses. Ephemeral containers use that of the node. */
function memoryShare(pod: PodPlan | undefined, name: string, policies: NumaPolicies): Share {
  if (policies.memory !== 'Static' || !isManaged(pod, policies) || findPlan(pod, name) === undefined) return 'node';
  if (pod?.whole?.[name] !== undefined) return 'own';
  return isWhole(pod, policies) ? 'pod' : 'node';
}

/** Returns whose CPUs a running container uses; `node` if the container started under earlier policies. */
export function cpuShareOf({ podUid, name, startedAtMs, cpus }: Life, facts: Facts): Share {
  if (facts.node.numa === undefined || cpus === '' || startedAtMs < facts.numa.changedAtMs) return 'node';
  return cpuShare(facts.pods.planOf(podUid), name, policiesOf(facts));
}

/** Returns whose memory a running container uses; `node` if the container started under earlier policies. */
export function memoryShareOf({ podUid, name, startedAtMs }: Life, facts: Facts): Share {
  if (facts.node.numa === undefined || startedAtMs < facts.numa.changedAtMs) return 'node';
  return memoryShare(facts.pods.planOf(podUid), name, policiesOf(facts));
}

/** Reports whether no container of another pod may use the CPUs of this container. */
export function isPinned(life: Life, facts: Facts): boolean {
  return cpuShareOf(life, facts) !== 'node';
}

/** Returns the number of CPUs in a request; 0 if the request is not a whole number of CPUs. */
export function wholeCpus(plan: WholePlan | undefined): number {
  const { cpuMillis = 0 } = plan ?? {};
  return cpuMillis % 1000 === 0 ? cpuMillis / 1000 : 0;
}

function isManaged(pod: PodPlan | undefined, { podLevel }: NumaPolicies): boolean {
  return pod !== undefined && (pod.podLevel === undefined || podLevel === true);
}
