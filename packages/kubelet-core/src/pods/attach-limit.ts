import type { RuntimePodStatus } from '@node-agent/pod-spec';

/** Reason of pods that are rejected because no more volumes can be attached to the node (`pkg/kubelet/volumemanager`). */
export const ATTACH_LIMIT_REASON = 'VolumeAttachmentLimitExceeded';

/** Returns whether a pod's volumes are missing because no more volumes can be attached to the node. */
export function isAttachLimit(error: unknown): error is Error {
  return error instanceof Error && 'code' in error && error.code === 'AttachLimitExceeded';
}

/**
 * Returns whether the pod is rejected for the error. Returns false for a pod with running containers, because the API
 * must not show the pod as failed while containers run (S2). Upstream also rejects a pod with running containers.
 */
export function isRejected(error: unknown, { containers }: Pick<RuntimePodStatus, 'containers'>): error is Error {
  return isAttachLimit(error) && !containers.some(({ state }) => state === 'running');
}
