import type { KubeletHealth, KubeletView } from '../dependencies.ts';
import type { PodExplanation } from './explain.ts';

/**
 * Explains the problems of a node and of its pods that are not in the desired state. `/debug/explain` responds with
 * this value.
 */
export interface NodeExplanation {
  readonly problems: readonly string[];
  /** Number of pods that the node should run. */
  readonly pods: number;
  /** Resources that the node is short of, and what eviction did about it; absent if pods are never evicted. */
  readonly eviction?: unknown;
  /** Pods that wait for something, have failed, or were restarted recently. */
  readonly waiting: readonly Pick<PodExplanation, 'pod' | 'phase' | 'causes' | 'waitingFor'>[];
}

/** Explains which pods of a node wait, and for what. */
export function explainNode(
  kubelet: Pick<KubeletView, 'getPods' | 'explain' | 'explainEviction' | 'health'>,
): NodeExplanation {
  const pods = kubelet.getPods();
  const health: KubeletHealth = kubelet.health();
  const waiting = pods.flatMap(({ metadata }) => {
    const explanation = kubelet.explain(metadata.namespace ?? '', metadata.name);
    if (explanation === undefined) return [];
    const { pod, phase, causes, waitingFor } = explanation;
    return causes === undefined && waitingFor.length === 0
      ? []
      : [{ pod, phase, ...(causes && { causes }), waitingFor }];
  });
  // A runtime that has been silent for less than 30 s is reported as a problem here, although the node stays Ready.
  const { runtimeSilence, ...checks } = health;
  const known = { ...checks, runtime: checks.runtime ?? runtimeSilence };
  const problems = Object.entries(known).flatMap(([name, problem]) =>
    problem === undefined ? [] : [`${name}: ${problem}`],
  );
  const eviction = kubelet.explainEviction();
  return { problems, pods: pods.length, ...(eviction !== undefined && { eviction }), waiting };
}
