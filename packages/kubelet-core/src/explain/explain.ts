import { isTerminalPhase, type Pod, type PodPhase, type RuntimePodStatus } from '@node-agent/pod-spec';
import { podCauses } from './pod-cause.ts';
import type { PodStep } from './pod-journal.ts';
import { nextSteps, type PlannedStep, podSteps } from './pod-steps.ts';
import { type PodWait, podWaits, type WaitContext } from './pod-waits.ts';

/** Why a pod is as it is, in one value: what `/debug/explain/<namespace>/<pod>` answers. All times are milliseconds since the Unix epoch. */
export interface PodExplanation {
  readonly pod: { readonly namespace: string; readonly name: string; readonly uid: string };
  /** When this was said. */
  readonly atMs: number;
  readonly phase: PodPhase | string | undefined;
  readonly reason?: string;
  readonly message?: string;
  /** Why the pod is not as wanted, a line each, the most telling first; absent if nothing is wrong. */
  readonly causes?: readonly string[];
  /** What must happen before the pod is as wanted, and since when; empty where nothing is missing. */
  readonly waitingFor: readonly PodWait[];
  /** What comes after what goes on now, in order; empty where there is nothing left to do. */
  readonly next: readonly PlannedStep[];
  /** What happened to it, in order; what goes on has no end. */
  readonly steps: readonly PodStep[];
  /** The pod worker's state, since when, and what it did before. */
  readonly worker: unknown;
  /** What its probes found; empty where it has none. */
  readonly probes: readonly unknown[];
  /** What eviction decided that had to do with it; absent where nothing did. */
  readonly evictions?: readonly unknown[];
  /** What the runtime has of it. */
  readonly runtime: RuntimePodStatus | undefined;
}

/** What {@link explainPod} looks at beside the pod. */
export interface ExplainContext extends Omit<WaitContext, 'steps'> {
  readonly nowMs: number;
  /** What was noted of it. */
  readonly noted: readonly PodStep[];
  /** It is on its way to its end. */
  readonly isEnding: boolean;
  readonly probes?: readonly unknown[];
  readonly evictions?: readonly unknown[];
  readonly runtimeStatus: RuntimePodStatus | undefined;
}

/** Says what happened to a pod, what it waits for, and what comes next. */
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
