import type { PodCondition } from '@node-agent/pod-spec';

/**
 * Upstream's reasons of the condition PodResizePending. The constant below is the reason of a failure in
 * PodResizeInProgress.
 */
export type PendingReason = 'Deferred' | 'Infeasible';
export const RESIZE_ERROR = 'Error';

/**
 * Resize conditions of a pod's status; without fields if there is no resize (`podResizeConditions` in
 * `pkg/kubelet/status`).
 */
export interface ResizeConditions {
  readonly pending?: PodCondition;
  readonly inProgress?: PodCondition;
}

/** Content of a condition, without its times. */
export interface ConditionNews {
  readonly reason?: string;
  readonly message?: string;
  /** Generation of the pod's spec that the condition refers to. */
  readonly observedGeneration?: number | undefined;
}

/**
 * Sets the pending condition because the resize was deferred or is infeasible. The transition time of the condition
 * changes only with the reason.
 * @returns `told`: whether the reason or generation changed, so that an event is due
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
 * Sets the in-progress condition because the resize is being actuated, or failed. An existing condition keeps its
 * generation. Reason and message are kept unless `news` has a new reason or message. Reason and message are removed
 * only when the resize ends.
 * @returns `told`: whether the condition changed
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

/**
 * Reads the conditions from the API's status after a restart of the kubelet (upstream: `BackfillPodResizeConditions`).
 */
export function conditionsOf(shown: readonly PodCondition[] | undefined): ResizeConditions {
  const pending = shown?.find(({ type }) => type === 'PodResizePending');
  const inProgress = shown?.find(({ type }) => type === 'PodResizeInProgress');
  return { ...(pending && { pending }), ...(inProgress && { inProgress }) };
}

/** Returns the conditions in upstream's order. */
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
  // Upstream updates the probe time with each check. Here, an unchanged condition is kept, to avoid a status write.
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
