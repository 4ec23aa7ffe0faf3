import { type Pod, type PodSource, podFullName, podSource } from '@node-agent/pod-spec';

/** A running pod that no source is known to desire. */
export interface UndesiredPod {
  readonly uid: string;
  readonly name: string;
  readonly namespace: string;
  /** Source of the pod; absent if unknown. */
  readonly source?: PodSource;
}

/**
 * Returns the undesired pods that are replaced: a static pod of the same full name and source is desired, and that
 * source has reported. Replaced pods may be terminated before the other sources have reported (F1), because a pod never
 * moves between sources (F2). One of the other sources is the API server, which may itself run in the static pod that
 * waits (F4).
 * @param desired all pods that the sources have reported so far
 */
export function replacedPods<T extends UndesiredPod>(
  desired: readonly Pod[],
  undesired: readonly T[],
  sourceReady: (source: PodSource) => boolean,
): readonly T[] {
  return undesired.filter(({ uid, name, namespace, source }) => {
    if (source === undefined || source === 'api' || !sourceReady(source)) return false;
    if (desired.some((pod) => pod.metadata.uid === uid)) return false;
    return desired.some((pod) => podFullName(pod) === `${name}_${namespace}` && podSource(pod) === source);
  });
}
