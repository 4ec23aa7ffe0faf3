import type { Pod } from '@node-agent/pod-spec';

/** Sorts pods by creation time. */
export function oldestFirst(pods: readonly Pod[]): readonly Pod[] {
  const createdAt = (pod: Pod): string => pod.metadata.creationTimestamp ?? '';
  return pods.toSorted((a, b) => (createdAt(a) < createdAt(b) ? -1 : createdAt(a) > createdAt(b) ? 1 : 0));
}
