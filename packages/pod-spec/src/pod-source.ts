import type { Pod } from './api.ts';

/** Where a pod came from; kept in its annotation {@link CONFIG_SOURCE_ANNOTATION}. */
export type PodSource = 'file' | 'http' | 'api';

export const CONFIG_SOURCE_ANNOTATION = 'kubernetes.io/config.source';
export const CONFIG_MIRROR_ANNOTATION = 'kubernetes.io/config.mirror';
export const CONFIG_HASH_ANNOTATION = 'kubernetes.io/config.hash';
export const CONFIG_SEEN_ANNOTATION = 'kubernetes.io/config.seen';

/** The source of a pod; `api` where the annotation is missing. */
export function podSource(pod: Pod): PodSource {
  return annotatedSource(pod.metadata.annotations) ?? 'api';
}

/** The source that annotations name, those of a sandbox too; `undefined` where they name none. */
export function annotatedSource(annotations: Readonly<Record<string, string>> | undefined): PodSource | undefined {
  const source = annotations?.[CONFIG_SOURCE_ANNOTATION];
  return source === 'file' || source === 'http' || source === 'api' ? source : undefined;
}

/** Whether the pod is the API server's shadow of a static pod. */
export function isMirrorPod(pod: Pod): boolean {
  return pod.metadata.annotations?.[CONFIG_MIRROR_ANNOTATION] !== undefined;
}

/** Whether the pod came from a manifest: any source but the API server. */
export function isStaticPod(pod: Pod): boolean {
  return podSource(pod) !== 'api';
}

/** `name_namespace`: what two static pods may not have in common (P4), and how mirror pods find their static pod. */
export function podFullName(pod: Pod): string {
  return `${pod.metadata.name}_${pod.metadata.namespace}`;
}
