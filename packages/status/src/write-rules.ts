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

/** Which object of the API shows a pod's status. */
export interface WriteTarget {
  readonly name: string;
  readonly namespace: string;
  readonly uid: string;
}

/**
 * The object that a pod's status is written to: its own, or a static pod's mirror pod. `undefined` where there is none
 * yet, or only that of an older version of the manifest, which is about to be replaced.
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
 * S5: whether the object of the API may be deleted for good: somebody asked for it, the API shows that the pod has ended,
 * and this node is through with it. Mirror pods go with their static pod (`canBeDeleted` in
 * `pkg/kubelet/status/status_manager.go`).
 */
export function canBeDeleted(pod: Pod, finished: boolean): boolean {
  if (pod.metadata.deletionTimestamp == null || isMirrorPod(pod)) return false;
  return finished && isTerminalPhase(pod.status?.phase);
}

/**
 * Whether an answer says that the pod is gone. The Node authorizer forbids a pod that it knows nothing of, and learns of a new one a little
 * later than its node may: what the watch still shows is not gone yet.
 */
export function saysGone(code: StatusApiErrorCode, isWatched: boolean): boolean {
  return code === 'NotFound' || (code === 'Forbidden' && !isWatched);
}

/**
 * Whether a container runs again that the API shows as ended. Where its pod's restart policy has it stay so, the API server lets it not
 * (`ValidateContainerStateTransition` in `pkg/apis/core/validation/validation.go`).
 */
export function revivesContainers(shown: PodStatus, next: PodStatus): boolean {
  return (['containerStatuses', 'initContainerStatuses'] as const).some((list) =>
    shown[list]?.some(
      ({ name, state }) =>
        state?.terminated != null &&
        next[list]?.some((container) => container.name === name && container.state?.terminated == null),
    ),
  );
}

/** How many refusals of one pod in a row are the Node authorizer's, which is behind, and no news. */
const EXPECTED_REFUSALS = 3;

/** Whether a failed write is worth a line that is seen: the first of a row, and one that goes on; what lies between would fill the log. */
export function isFailureNews(code: StatusApiErrorCode, failures: number): boolean {
  if (code === 'Conflict' || (failures & (failures - 1)) !== 0) return false;
  return code !== 'Forbidden' || failures > EXPECTED_REFUSALS;
}

/** What is known of the last write of a pod's status. */
export interface Written {
  readonly version: number;
  /** The UID of the object that was written to: another mirror pod knows nothing yet. */
  readonly uid: string;
}

/** S3: whether there is something newer than what was written (`needsUpdate`). */
export function isNewer(version: number, targetUid: string, written: Written | undefined): boolean {
  return written === undefined || written.uid !== targetUid || written.version < version;
}

/** How retries are spaced. */
export interface RetryOptions {
  readonly initialMs: number;
  readonly maxMs: number;
}

/** The longest that the server is let ask to wait, in milliseconds; as `@node-agent/kube-client` has it. */
const MAX_RETRY_AFTER_MS = 600_000;

/**
 * The pause after the n-th failure in a row, in milliseconds: doubling up to the maximum, and somewhere in the upper half
 * of that, so that pods do not come back all at once. What the server asks for is kept, up to ten minutes; what is no finite number from 0
 * on asks for nothing.
 * @param chance from 0 to 1
 */
export function retryDelayMs(
  failures: number,
  { initialMs, maxMs }: RetryOptions,
  chance: number,
  retryAfterMs = 0,
): number {
  const fullMs = Math.min(maxMs, initialMs * 2 ** Math.min(failures - 1, 30));
  const askedMs = Number.isFinite(retryAfterMs) ? Math.min(retryAfterMs, MAX_RETRY_AFTER_MS) : 0;
  return Math.max(fullMs * (0.5 + chance / 2), askedMs);
}

/**
 * The newer of two readings of one object; `undefined` where that cannot be told. Resource versions of one resource can be
 * compared as numbers (KEP-5504).
 */
export function newerOf(one: Pod | undefined, other: Pod | undefined): Pod | undefined {
  const a = revisionOf(one);
  const b = revisionOf(other);
  if (one === undefined || other === undefined) return a !== undefined ? one : b !== undefined ? other : undefined;
  if (a === undefined || b === undefined) return undefined;
  return isBelow(a, b) ? other : one;
}

/** In digits. */
function revisionOf(pod: Pod | undefined): string | undefined {
  const version = pod?.metadata.resourceVersion ?? '';
  return /^[1-9][0-9]*$/.test(version) ? version : undefined;
}

/** Whether a number is below another one, both in digits without zeros before them: they may be too long for what is not a big integer. */
function isBelow(one: string, other: string): boolean {
  return one.padStart(other.length, '0') < other.padStart(one.length, '0');
}
