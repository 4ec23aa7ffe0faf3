import { type Pod, type PodSource, podFullName, podSource } from '@node-agent/pod-spec';

/** A running pod that no source is known to desire. */
export interface UnwantedPod {
  readonly uid: string;
  readonly name: string;
  readonly namespace: string;
  /** Absent if unknown. */
  readonly source?: PodSource;
}

/**
 * Returns the unwanted pods that are replaced: a static pod of the same full name and source is desired, and that
 * source has reported. These pods may be terminated before the other sources have reported (F1), because a pod never
 * moves between sources (F2). One of the other sources is the API server, which may itself run in the static pod that
 * waits (F4).
 * @param wanted all pods that the sources have reported so far
 */
export function staleNamesakes<T extends UnwantedPod>(
  wanted: readonly Pod[],
  unwanted: readonly T[],
  sourceReady: (source: PodSource) => boolean,
): readonly T[] {
  return unwanted.filter(({ uid, name, namespace, source }) => {
    if (source === undefined || source === 'api' || !sourceReady(source)) return false;
    if (wanted.some((pod) => pod.metadata.uid === uid)) return false;
    return wanted.some((pod) => podFullName(pod) === `${name}_${namespace}` && podSource(pod) === source);
  });
}
