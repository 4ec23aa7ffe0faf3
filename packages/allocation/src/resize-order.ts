import { oncePer, type Pod, podQosClass } from '@node-agent/pod-spec';

/** A pending resize with the properties that determine its order. */
export interface WaitingResize {
  readonly pod: Pod;
  /** Whether the resize requests more CPU or memory than is allocated. */
  readonly increases: boolean;
  /** Time at which the resize was deferred, in ms since the Unix epoch; `undefined` if it was never deferred. */
  readonly pendingSinceMs: number | undefined;
}

/**
 * Compares two pending resizes for `Array.sort` (`sortPendingResizes` in
 * `pkg/kubelet/allocation/allocation_manager.go`): first resizes that do not request more than is allocated, then those
 * of pods with higher priority, then those of Guaranteed pods, then the longest deferred. If neither resize requests
 * more, upstream's comparison is inconsistent; here, the other rules decide.
 */
export function compareResizes(one: WaitingResize, other: WaitingResize): number {
  return (
    Number(one.increases) - Number(other.increases) ||
    (other.pod.spec.priority ?? 0) - (one.pod.spec.priority ?? 0) ||
    rank(one.pod) - rank(other.pod) ||
    since(one) - since(other) ||
    0
  );
}

/** Computed once per pod, because a pod is compared with several others. */
const rank = oncePer((pod: Pod): number => (podQosClass(pod) === 'Guaranteed' ? 0 : 1));

/** Returns the time that determines the order. Resizes that were never deferred come after deferred ones. */
function since({ pendingSinceMs }: WaitingResize): number {
  return pendingSinceMs ?? Number.MAX_SAFE_INTEGER;
}
