import {
  CONFIG_HASH_ANNOTATION,
  CONFIG_MIRROR_ANNOTATION,
  isMirrorPod,
  isStaticPod,
  isTerminalPhase,
  type Pod,
  type PodStatus,
} from '@node-agent/pod-spec';

import type { StatusApiErrorCode } from './api-error.ts';

/** API object that shows a pod's status. */
export interface WriteTarget {
  readonly name: string;
  readonly namespace: string;
  readonly uid: string;
}

/**
 * Returns the object that a pod's status is written to: the pod itself, or the mirror pod of a static pod. Returns
 * `undefined` if there is none yet, or if the mirror pod is of an older version of the manifest and about to be
 * replaced.
 */
export function writeTarget(pod: Pod, mirrorPod: Pod | undefined): WriteTarget | undefined {
  const shown = isStaticPod(pod) ? mirrorPod : pod;
  if (shown === undefined) return undefined;
  const hash = pod.metadata.annotations?.[CONFIG_HASH_ANNOTATION];
  const mirrored = shown.metadata.annotations?.[CONFIG_MIRROR_ANNOTATION];
  if (mirrored !== undefined && hash !== undefined && mirrored !== hash) return undefined;
  const { name, namespace, uid } = shown.metadata;
  return { name, namespace, uid };
}

/**
 * S5: returns whether the API object may be deleted for good: its deletion was requested, the API shows a terminal
 * phase, and this node has released the pod. Mirror pods are deleted together with their static pod (`canBeDeleted` in
 * `pkg/kubelet/status/status_manager.go`).
 */
export function canBeDeleted(pod: Pod, finished: boolean): boolean {
  if (pod.metadata.deletionTimestamp == null || isMirrorPod(pod)) return false;
  return finished && isTerminalPhase(pod.status?.phase);
}

/**
 * Returns whether an error means that the pod no longer exists. The Node authorizer responds with Forbidden for a
 * deleted pod, but also for a new pod that the authorizer has not seen yet. A forbidden pod therefore counts as deleted
 * only if the kubelet's watch does not show it.
 */
export function meansPodIsGone(code: StatusApiErrorCode, isWatched: boolean): boolean {
  return code === 'NotFound' || (code === 'Forbidden' && !isWatched);
}

/**
 * Returns whether a container runs again that the API shows as terminated. If the pod's restart policy does not restart
 * it, the API server rejects the change (`ValidateContainerStateTransition` in
 * `pkg/apis/core/validation/validation.go`).
 */
export function restartsTerminated(shown: PodStatus, next: PodStatus): boolean {
  return (['containerStatuses', 'initContainerStatuses'] as const).some((list) =>
    shown[list]?.some(
      ({ name, state }) =>
        state?.terminated != null &&
        next[list]?.some((container) => container.name === name && container.state?.terminated == null),
    ),
  );
}

/** Number of consecutive Forbidden responses for one pod that are expected while the Node authorizer lags behind. */
const EXPECTED_REFUSALS = 3;

/**
 * Returns whether a failed write is logged as an error: the first of a series, and then at doubling intervals, to keep
 * the log small.
 */
export function isFailureLogged(code: StatusApiErrorCode, failures: number): boolean {
  if (code === 'Conflict' || (failures & (failures - 1)) !== 0) return false;
  return code !== 'Forbidden' || failures > EXPECTED_REFUSALS;
}

/** Last write of a pod's status. */
export interface Written {
  readonly version: number;
  /** UID of the object that was written to. A new mirror pod has not received the status yet. */
  readonly uid: string;
}

/** S3: returns whether there is a newer status than the written one (`needsUpdate`). */
export function isNewer(version: number, targetUid: string, written: Written | undefined): boolean {
  return written === undefined || written.uid !== targetUid || written.version < version;
}

/** Back-off settings of retries. */
export interface RetryOptions {
  readonly initialMs: number;
  readonly maxMs: number;
}

/** Maximum delay that the server can request, in milliseconds; as in `@node-agent/kube-client`. */
const MAX_RETRY_AFTER_MS = 600_000;

/**
 * Returns the delay after the n-th consecutive failure, in milliseconds. The delay doubles up to the maximum. A random
 * value in the upper half of the delay is used, so that pods do not retry all at the same time. A delay that the server
 * requests is respected, up to ten minutes; a value that is negative or not finite is ignored.
 * @param chance random number from 0 to 1
 */
export function retryDelayMs(
  failures: number,
  { initialMs, maxMs }: RetryOptions,
  chance: number,
  retryAfterMs = 0,
): number {
  const fullMs = Math.min(maxMs, initialMs * 2 ** Math.min(failures - 1, 30));
  const requestedMs = Number.isFinite(retryAfterMs) ? Math.min(retryAfterMs, MAX_RETRY_AFTER_MS) : 0;
  return Math.max(fullMs * (0.5 + chance / 2), requestedMs);
}

/**
 * Returns the newer of two versions of one object; `undefined` if that cannot be decided. Resource versions of one
 * resource can be compared as numbers (KEP-5504).
 */
export function newerOf(one: Pod | undefined, other: Pod | undefined): Pod | undefined {
  const a = revisionOf(one);
  const b = revisionOf(other);
  if (one === undefined || other === undefined) return a !== undefined ? one : b !== undefined ? other : undefined;
  if (a === undefined || b === undefined) return undefined;
  return isBelow(a, b) ? other : one;
}

/** Returns the resource version as decimal digits. */
function revisionOf(pod: Pod | undefined): string | undefined {
  const version = pod?.metadata.resourceVersion ?? '';
  return /^[1-9][0-9]*$/.test(version) ? version : undefined;
}

/**
 * Compares two numbers given as decimal digits without leading zeros; they may exceed the range of exact JavaScript
 * numbers.
 */
function isBelow(one: string, other: string): boolean {
  return one.padStart(other.length, '0') < other.padStart(one.length, '0');
}
