import type { Pod } from '@node-agent/pod-spec';

/** In the order in which they were made. */
export function oldestFirst(pods: readonly Pod[]): readonly Pod[] {
  const createdAt = (pod: Pod): string => pod.metadata.creationTimestamp ?? '';
  return pods.toSorted((a, b) => (createdAt(a) < createdAt(b) ? -1 : createdAt(a) > createdAt(b) ? 1 : 0));
}
