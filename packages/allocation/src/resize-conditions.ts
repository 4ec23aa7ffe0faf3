import type { PodCondition } from '@node-agent/pod-spec';

/** Upstream's reasons of the condition PodResizePending, and that of a failure in PodResizeInProgress. */
export type PendingReason = 'Deferred' | 'Infeasible';
export const RESIZE_ERROR = 'Error';

/** What a pod's status says of its resize; nothing where there is none (`podResizeConditions` in `pkg/kubelet/status`). */
export interface ResizeConditions {
  readonly pending?: PodCondition;
  readonly inProgress?: PodCondition;
}

/** What a condition says, beside its times. */
export interface ConditionNews {
  readonly reason?: string;
  readonly message?: string;
  /** The generation of the pod's spec that it is about. */
  readonly observedGeneration?: number | undefined;
}

/**
 * The resize was put off, or refused. Its transition is the time at which its reason changed last.
 * @returns `told`: whether its reason or its generation changed, so that an event is due
 */
export function withPending(
  before: ResizeConditions,
  news: ConditionNews & { readonly reason: PendingReason },
  now: string,
): { readonly conditions: ResizeConditions; readonly told: boolean } {
  const pending = condition('PodResizePending', before.pending, news, now);
  const told =
    before.pending === undefined ||
    before.pending.reason !== pending.reason ||
    before.pending.observedGeneration !== pending.observedGeneration;
  return { conditions: { ...before, pending }, told };
}

/**
 * The resize is being carried out, or failed at that. The generation of a condition that is there stays, and so do its reason and
 * message where there are no others: only its end takes them away.
 * @returns `told`: whether it changed
 */
export function withInProgress(
  before: ResizeConditions,
  news: ConditionNews,
  now: string,
): { readonly conditions: ResizeConditions; readonly told: boolean } {
  const old = before.inProgress;
  const says = news.reason || news.message ? news : { ...news, reason: old?.reason, message: old?.message };
  const observedGeneration = old === undefined ? news.observedGeneration : old.observedGeneration;
  const inProgress = condition('PodResizeInProgress', old, { ...says, observedGeneration }, now);
  const told = old === undefined || old.reason !== inProgress.reason || old.message !== inProgress.message;
  return { conditions: { ...before, inProgress }, told };
}

export function withoutPending({ pending: _pending, ...rest }: ResizeConditions): ResizeConditions {
  return rest;
}

export function withoutInProgress({ inProgress: _inProgress, ...rest }: ResizeConditions): ResizeConditions {
  return rest;
}

/** As the API shows them, after a restart of the kubelet (`BackfillPodResizeConditions`). */
export function conditionsOf(shown: readonly PodCondition[] | undefined): ResizeConditions {
  const pending = shown?.find(({ type }) => type === 'PodResizePending');
  const inProgress = shown?.find(({ type }) => type === 'PodResizeInProgress');
  return { ...(pending && { pending }), ...(inProgress && { inProgress }) };
}

/** In upstream's order. */
export function conditionList({ pending, inProgress }: ResizeConditions): readonly PodCondition[] {
  return [...(pending ? [pending] : []), ...(inProgress ? [inProgress] : [])];
}

function condition(
  type: string,
  old: PodCondition | undefined,
  news: { readonly [K in keyof ConditionNews]: ConditionNews[K] | undefined },
  now: string,
): PodCondition {
  const { reason = '', message = '', observedGeneration } = news;
  const same =
    old !== undefined &&
    (old.reason ?? '') === reason &&
    (old.message ?? '') === message &&
    old.observedGeneration === observedGeneration;
  // Upstream notes the time of each look; a status that says nothing new is not worth a write.
  if (same) return old;
  return {
    type,
    status: 'True',
    lastProbeTime: now,
    lastTransitionTime: old !== undefined && (old.reason ?? '') === reason ? (old.lastTransitionTime ?? now) : now,
    ...(reason && { reason }),
    ...(message && { message }),
    ...(observedGeneration !== undefined && { observedGeneration }),
  };
}
