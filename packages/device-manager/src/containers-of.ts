import type { Container, Pod } from '@node-agent/pod-spec';

/** Returns a pod's init containers and containers, in the order in which they get devices. */
export function containersOf({ spec }: Pod): readonly Container[] {
  return [...(spec.initContainers ?? []), ...spec.containers];
}
