import { type Pod, type PodSource, podFullName, podSource } from '@node-agent/pod-spec';

/** A pod that runs and that nobody wants, as far as is known. */
export interface UnwantedPod {
  readonly uid: string;
  readonly name: string;
  readonly namespace: string;
  /** Absent where nobody knows. */
  readonly source?: PodSource;
}

/**
 * The pods whose place is taken: a static pod of the same full name, and of the same source, is wanted, and that source has spoken.
 * They may go before the other sources have spoken (F1), as no pod ever moves between sources (F2): the pod that is waited for may be
 * the API server itself, which is one of those sources (F4).
 * @param wanted all pods that the sources have brought so far
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
