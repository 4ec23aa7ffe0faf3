import { type Pod, podQosClass } from '@node-agent/pod-spec';

/** A resize that waits, as its place among the others depends on it. */
export interface WaitingResize {
  readonly pod: Pod;
  /** Whether it asks for more CPU or memory than the pod was granted. */
  readonly increases: boolean;
  /** When it was put off, in ms since the Unix epoch; `undefined` where that has not happened. */
  readonly pendingSinceMs: number | undefined;
}

/**
 * Which of two resizes is tried first, as `Array.sort` wants it (`sortPendingResizes` in `pkg/kubelet/allocation/allocation_manager.go`):
 * one that asks for no more; then the higher priority; then Guaranteed; then who has waited longer. Upstream's comparison
 * contradicts itself where neither asks for more: here the other rules decide then.
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

function rank(pod: Pod): number {
  return podQosClass(pod) === 'Guaranteed' ? 0 : 1;
}

/** Who was never put off comes after those who were. */
function since({ pendingSinceMs }: WaitingResize): number {
  return pendingSinceMs ?? Number.MAX_SAFE_INTEGER;
}
