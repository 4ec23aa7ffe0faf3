import type { Pod } from './api.ts';
import { findContainer } from './containers.ts';

/** What an event about a pod, or about a container of it, refers to (v1 ObjectReference). */
export interface PodReference {
  readonly kind: 'Pod';
  readonly apiVersion: 'v1';
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /** As the API server gave it; a pod that it does not know has none. */
  readonly resourceVersion?: string;
  /** For a container: `spec.containers{name}`, `spec.initContainers{name}` or `spec.ephemeralContainers{name}`. */
  readonly fieldPath?: string;
}

/** What events about a pod refer to (`GetReference` in `client-go/tools/reference/ref.go`). */
export function podReference({ metadata }: Pick<Pod, 'metadata'>): PodReference {
  const { namespace, name, uid, resourceVersion } = metadata;
  return { kind: 'Pod', apiVersion: 'v1', namespace, name, uid, ...(resourceVersion && { resourceVersion }) };
}

/** What events about a container refer to: its pod, and where in it the container is (`GenerateContainerRef` in `pkg/kubelet/container/ref.go`). */
export function containerReference(pod: Pod, containerName: string): PodReference {
  const fieldPath = findContainer(pod, containerName)?.fieldPath ?? `implicitly required container ${containerName}`;
  return { ...podReference(pod), fieldPath };
}
