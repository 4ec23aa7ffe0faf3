import type { RuntimePodStatus } from '@node-agent/pod-spec';
import type { PodLifecycleEvent } from './types.ts';

/**
 * Adds to events the data that a reader cannot find in the cache. The pod's name and namespace are added, because they
 * leave the cache with the pod. If a container was removed before its exit was read, the container's last status is
 * added too.
 * @param before the cached status before these events; `undefined` if the pod was not cached
 * @param after the cached status now; `undefined` if the runtime no longer has the pod
 */
export function describeEvents(
  events: readonly PodLifecycleEvent[],
  { name, namespace }: { readonly name: string; readonly namespace: string },
  before: RuntimePodStatus | undefined,
  after: RuntimePodStatus | undefined,
): readonly PodLifecycleEvent[] {
  const pod = name === '' ? {} : { podName: name, podNamespace: namespace };
  return events.map((event) => {
    const isThere = after?.containers.some(({ id }) => id === event.containerId);
    if (event.type !== 'ContainerDied' || isThere) return { ...event, ...pod };
    const lastStatus = before?.containers.find(({ id }) => id === event.containerId);
    return { ...event, ...pod, ...(lastStatus && { lastStatus }) };
  });
}
