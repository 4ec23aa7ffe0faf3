import type { Pod } from './api.ts';
import { findContainer } from './containers.ts';

/** Reference of an event to a pod or to one of its containers (v1 ObjectReference). */
export interface PodReference {
  readonly kind: 'Pod';
  readonly apiVersion: 'v1';
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /** Resource version from the API server; absent if the API server does not know the pod. */
  readonly resourceVersion?: string;
  /**
   * Path of the container in the pod's spec, such as `spec.containers{name}`, `spec.initContainers{name}` or
   * `spec.ephemeralContainers{name}`; absent for the pod itself.
   */
  readonly fieldPath?: string;
}

/** Returns the reference for events about a pod (`GetReference` in `client-go/tools/reference/ref.go`). */
export function podReference({ metadata }: Pick<Pod, 'metadata'>): PodReference {
  const { namespace, name, uid, resourceVersion } = metadata;
  return { kind: 'Pod', apiVersion: 'v1', namespace, name, uid, ...(resourceVersion && { resourceVersion }) };
}

/**
 * Returns the reference for events about a container: its pod and the container's field path (`GenerateContainerRef` in
 * `pkg/kubelet/container/ref.go`).
 */
export function containerReference(pod: Pod, containerName: string): PodReference {
  const fieldPath = findContainer(pod, containerName)?.fieldPath ?? `implicitly required container ${containerName}`;
  return { ...podReference(pod), fieldPath };
}
