import { type Pod, type PodPhase, podFullName, type RuntimePodStatus } from '@node-agent/pod-spec';
import type { PodWorkerView } from './ports.ts';

/** Why a pod is as it is, in one value: what `/explain` answers. */
export interface PodExplanation {
  readonly pod: { readonly namespace: string; readonly name: string; readonly uid: string };
  readonly phase: PodPhase | string | undefined;
  readonly reason?: string;
  readonly message?: string;
  /** What must happen before the pod is as wanted; empty where nothing is missing. */
  readonly waitingFor: readonly string[];
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
export interface ExplainContext {
  /** Nothing is decided yet about whether the pod may run here. */
  readonly undecided: boolean;
  readonly worker: PodWorkerView | undefined;
  readonly probes?: readonly unknown[];
  readonly evictions?: readonly unknown[];
  readonly runtimeStatus: RuntimePodStatus | undefined;
  readonly runtimeErrors: readonly string[];
  readonly networkError: string | undefined;
}

/** Says what a pod waits for, from its status and the state of the node. */
export function explainPod(pod: Pod, context: ExplainContext): PodExplanation {
  const { namespace, name, uid } = pod.metadata;
  const { status } = pod;
  const waitingFor: string[] = context.runtimeErrors.map((error) => `runtime: ${error}`);
  if (context.undecided) waitingFor.push('admission: it is not decided yet whether the pod may run here');
  if (context.networkError !== undefined && !pod.spec.hostNetwork) waitingFor.push(`network: ${context.networkError}`);
  if (context.worker?.activity.kind === 'waitingForFullName') {
    const { holderUid } = context.worker.activity;
    const holder = holderUid === undefined ? 'what runs is not known yet' : `pod ${holderUid} has it, or still runs`;
    waitingFor.push(`name ${podFullName(pod)}: ${holder}`);
  }
  for (const { type, reason, message } of status?.conditions ?? []) {
    const detail = message ? `: ${message}` : '';
    if (type === 'PodResizePending') waitingFor.push(`resize: ${reason ?? 'it waits'}${detail}`);
    if (type === 'PodResizeInProgress') waitingFor.push(`resize: ${reason ?? 'it is being carried out'}${detail}`);
  }
  for (const container of [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])]) {
    const waiting = container.state?.waiting;
    if (waiting === undefined) continue;
    const detail = waiting.message ? `: ${waiting.message}` : '';
    waitingFor.push(`container ${container.name}: ${waiting.reason ?? 'waiting'}${detail}`);
  }
  return {
    pod: { namespace, name, uid },
    phase: status?.phase,
    ...(status?.reason !== undefined && { reason: status.reason }),
    ...(status?.message !== undefined && { message: status.message }),
    waitingFor,
    worker: context.worker,
    probes: context.probes ?? [],
    ...(context.evictions?.length && { evictions: context.evictions }),
    runtime: context.runtimeStatus,
  };
}
