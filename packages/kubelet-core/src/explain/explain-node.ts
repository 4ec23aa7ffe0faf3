import type { KubeletHealth, KubeletView } from '../dependencies.ts';
import type { PodExplanation } from './explain.ts';

/** What a node waits for: what is wrong with it, and which of its pods are not as they should be. It is what `/debug/explain` answers. */
export interface NodeExplanation {
  readonly problems: readonly string[];
  /** How many it should run. */
  readonly pods: number;
  /** What the node is short of, and what was done about it; absent where no pod is ever evicted. */
  readonly eviction?: unknown;
  /** The pods that wait for something, have failed, or were restarted a short while ago. */
  readonly waiting: readonly Pick<PodExplanation, 'pod' | 'phase' | 'causes' | 'waitingFor'>[];
}

/** Says which pods of a node wait, and for what. */
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
  // A runtime that is silent for less than 30 s is a problem here, though the node stays Ready.
  const { runtimeSilence, ...checks } = health;
  const known = { ...checks, runtime: checks.runtime ?? runtimeSilence };
  const problems = Object.entries(known).flatMap(([name, problem]) =>
    problem === undefined ? [] : [`${name}: ${problem}`],
  );
  const eviction = kubelet.explainEviction();
  return { problems, pods: pods.length, ...(eviction !== undefined && { eviction }), waiting };
}
