import { isMirrorPod, type Pod, type PodStatus } from '@node-agent/pod-spec';
import type { Logger } from '@node-agent/telemetry';
import { StatusApiError } from './api-error.ts';
import { type MergeContext, mergePodStatus } from './merge.ts';
import type { VersionedStatus } from './status-manager.ts';
import { podStatusPatch } from './status-patch.ts';
import type { StatusApi } from './status-writer-ports.ts';
import { meansPodIsGone, restartsTerminated, type WriteTarget } from './write-rules.ts';

/** Input of {@link writeStatus}. */
export interface StatusWrite {
  readonly newest: VersionedStatus;
  readonly target: WriteTarget;
  /** Known version of the API object. If absent, the object is read from the API. */
  readonly base: Pod | undefined;
  readonly context: () => MergeContext;
  readonly isWatched: () => boolean;
}

/**
 * Writes one status to the API server (`syncPod` in `pkg/kubelet/status/status_manager.go`).
 * @returns the pod as the API has it afterwards; `undefined` if the pod is gone or another pod has taken its name
 * @throws the error of the API
 */
export async function writeStatus(
  { api, logger }: { readonly api: StatusApi; readonly logger: Logger },
  { newest, target, base, context, isWatched }: StatusWrite,
  signal: AbortSignal,
): Promise<Pod | undefined> {
  const { namespace, name, uid } = target;
  const fields = { pod: `${namespace}/${name}`, podUid: newest.pod.metadata.uid, statusVersion: newest.version };
  const pod = base ?? (await ignoreGone(api.getPod(namespace, name, signal), isWatched));
  if (pod === undefined) {
    logger.debug(fields, 'Pod does not exist on the server');
    return undefined;
  }
  if (pod.metadata.uid !== uid) {
    logger.info(fields, 'Pod was deleted and then recreated, skipping status update');
    return undefined;
  }
  // Evaluated directly before the patch is sent: whether containers may run must be current, not as of the start of the
  // read (S2).
  const merged = mergePodStatus(pod, newest.status, context());
  const patch = podStatusPatch(pod.metadata, pod.status ?? {}, merged);
  if (patch === undefined) return pod;
  const patching = api.patchPodStatus(namespace, name, uid, patch, signal).catch((error: unknown) => {
    throw refusalOf(error, pod, merged);
  });
  const patched = await ignoreGone(patching, isWatched);
  logger.debug(
    { ...fields, patch },
    patched ? 'Status for pod updated successfully' : 'Pod does not exist on the server',
  );
  return patched;
}

function refusalOf(error: unknown, pod: Pod, merged: PodStatus): unknown {
  const { code, message } = StatusApiError.from(error);
  const isIllegalRestart = code === 'Invalid' && isMirrorPod(pod) && restartsTerminated(pod.status ?? {}, merged);
  return isIllegalRestart ? new StatusApiError('CannotRevive', message, { cause: error }) : error;
}

/** Returns the response of a request; `undefined` if the object does not exist ({@link meansPodIsGone}). */
export async function ignoreGone<T>(request: Promise<T>, isWatched: () => boolean): Promise<T | undefined> {
  try {
    return await request;
  } catch (error) {
    if (meansPodIsGone(StatusApiError.from(error).code, isWatched())) return undefined;
    throw error;
  }
}
