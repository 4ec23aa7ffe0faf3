import { isTerminalPhase, type Pod, type PodPhase, type RuntimePodStatus } from '@node-agent/pod-spec';
import { podCauses } from './pod-cause.ts';
import type { PodStep } from './pod-journal.ts';
import { nextSteps, type PlannedStep, podSteps } from './pod-steps.ts';
import { type PodWait, podWaits, type WaitContext } from './pod-waits.ts';

/**
 * Explanation of a pod's state. `/debug/explain/<namespace>/<pod>` responds with this value. All times are milliseconds
 * since the Unix epoch.
 */
export interface PodExplanation {
  readonly pod: { readonly namespace: string; readonly name: string; readonly uid: string };
  /** Time of the explanation. */
  readonly atMs: number;
  readonly phase: PodPhase | string | undefined;
  readonly reason?: string;
  readonly message?: string;
  /**
   * Reasons why the pod is not in the desired state, one line each, most specific first; absent if nothing is wrong.
   */
  readonly causes?: readonly string[];
  /** Conditions that must be met before the pod is in the desired state, each with its start time; empty if none. */
  readonly waitingFor: readonly PodWait[];
  /** Steps after those in progress, in order; empty if nothing is left to do. */
  readonly next: readonly PlannedStep[];
  /** Past and current steps of the pod, in order. Steps in progress have no end time. */
  readonly steps: readonly PodStep[];
  /** State of the pod worker, since when, and its history. */
  readonly worker: unknown;
  /** Results of the pod's probes; empty if the pod has no probes. */
  readonly probes: readonly unknown[];
  /** Eviction decisions that concern the pod; absent if there are none. */
  readonly evictions?: readonly unknown[];
  /** Status of the pod in the runtime. */
  readonly runtime: RuntimePodStatus | undefined;
}

/** Inputs of {@link explainPod} besides the pod. */
export interface ExplainContext extends Omit<WaitContext, 'steps'> {
  readonly nowMs: number;
  /** Steps of the pod that the journal has recorded. */
  readonly noted: readonly PodStep[];
  /** Whether the pod is terminating. */
  readonly isEnding: boolean;
  readonly probes?: readonly unknown[];
  readonly evictions?: readonly unknown[];
  readonly runtimeStatus: RuntimePodStatus | undefined;
}

/** Explains what happened to a pod, what the pod waits for, and which steps come next. */
export function explainPod(pod: Pod, context: ExplainContext): PodExplanation {
  const { namespace, name, uid } = pod.metadata;
  const { status } = pod;
  const steps = podSteps(pod, context.noted, context.runtimeStatus);
  const isEnding = context.isEnding || (isTerminalPhase(status?.phase) && context.worker?.activity.kind !== 'finished');
  const waitingFor = podWaits(pod, { ...context, steps });
  const causes = podCauses(pod, { ...context, steps, waits: waitingFor });
  return {
    pod: { namespace, name, uid },
    atMs: context.nowMs,
    phase: status?.phase,
    ...(status?.reason !== undefined && { reason: status.reason }),
    ...(status?.message !== undefined && { message: status.message }),
    ...(causes.length > 0 && { causes }),
    waitingFor,
    next: nextSteps(pod, steps, context.runtimeStatus, isEnding),
    steps,
    worker: context.worker,
    probes: context.probes ?? [],
    ...(context.evictions?.length && { evictions: context.evictions }),
    runtime: context.runtimeStatus,
  };
}
