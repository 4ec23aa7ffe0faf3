/** Facts that decide what happens to an added pod. */
export interface AdditionFacts {
  /** Whether the pod's phase in the API is terminal. */
  readonly isTerminal: boolean;
  /** Whether the pod is marked for deletion. */
  readonly isDeleted: boolean;
  /** Whether the pod was running before it was added. */
  readonly runsAlready: boolean;
  /** Whether its pod worker terminates the pod, or has terminated it. */
  readonly isTerminating: boolean;
}

/**
 * Decides what happens to an added pod.
 *
 * | pod                                        | result      |
 * |--------------------------------------------|-------------|
 * | terminal in the API                        | `terminate` |
 * | already runs, or its worker terminates it  | `resume`    |
 * | new and marked for deletion                | `terminate` |
 * | new                                        | `admit`     |
 *
 * `admit`: the pod gets a worker when it is admitted. `resume`: the pod gets a worker without admission and keeps its
 * allocated resources (N1). `terminate`: the worker only has to stop the pod, which needs no resources. Upstream admits
 * pods that must terminate, may preempt others for a critical one, and rejects a pod whose containers had all
 * completed.
 */
export function planAddition(facts: AdditionFacts): 'admit' | 'resume' | 'terminate' {
  if (facts.isTerminal) return 'terminate';
  if (facts.runsAlready || facts.isTerminating) return 'resume';
  return facts.isDeleted ? 'terminate' : 'admit';
}
