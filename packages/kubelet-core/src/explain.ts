import type { Pod, PodPhase, RuntimePodStatus } from '@node-agent/pod-spec';

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
  /** What the runtime has of it. */
  readonly runtime: RuntimePodStatus | undefined;
}

/** What {@link explainPod} looks at beside the pod. */
export interface ExplainContext {
  readonly worker: unknown;
  readonly runtimeStatus: RuntimePodStatus | undefined;
  readonly runtimeErrors: readonly string[];
  readonly networkError: string | undefined;
}

/** Says what a pod waits for, from its status and the state of the node. */
export function explainPod(pod: Pod, context: ExplainContext): PodExplanation {
  const { namespace, name, uid } = pod.metadata;
  const { status } = pod;
  const waitingFor: string[] = context.runtimeErrors.map((error) => `runtime: ${error}`);
  if (context.networkError !== undefined && !pod.spec.hostNetwork) waitingFor.push(`network: ${context.networkError}`);
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
    runtime: context.runtimeStatus,
  };
}
