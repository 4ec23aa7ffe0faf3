import type { Pod } from './api.ts';

/** Source of a pod; kept in its annotation {@link CONFIG_SOURCE_ANNOTATION}. */
export type PodSource = 'file' | 'http' | 'api';

export const CONFIG_SOURCE_ANNOTATION = 'kubernetes.io/config.source';
export const CONFIG_MIRROR_ANNOTATION = 'kubernetes.io/config.mirror';
export const CONFIG_HASH_ANNOTATION = 'kubernetes.io/config.hash';
export const CONFIG_SEEN_ANNOTATION = 'kubernetes.io/config.seen';

/** Returns the source of a pod; `api` if the annotation is missing. */
export function podSource(pod: Pod): PodSource {
  return annotatedSource(pod.metadata.annotations) ?? 'api';
}

/** Returns the source named by the annotations of a pod or sandbox; `undefined` if they name none. */
export function annotatedSource(annotations: Readonly<Record<string, string>> | undefined): PodSource | undefined {
  const source = annotations?.[CONFIG_SOURCE_ANNOTATION];
  return source === 'file' || source === 'http' || source === 'api' ? source : undefined;
}

/** Returns whether the pod is the mirror pod that represents a static pod in the API. */
export function isMirrorPod(pod: Pod): boolean {
  return pod.metadata.annotations?.[CONFIG_MIRROR_ANNOTATION] !== undefined;
}

/** Returns whether the pod came from a manifest, that is, from any source other than the API server. */
export function isStaticPod(pod: Pod): boolean {
  return podSource(pod) !== 'api';
}

/**
 * Returns `name_namespace`. Two static pods must not share this full name (P4), and a mirror pod is matched to its
 * static pod by the full name.
 */
export function podFullName(pod: Pod): string {
  return `${pod.metadata.name}_${pod.metadata.namespace}`;
}
