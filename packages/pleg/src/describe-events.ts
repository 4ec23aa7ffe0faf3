import type { RuntimePodStatus } from '@node-agent/pod-spec';
import type { PodLifecycleEvent } from './types.ts';

/**
 * Adds data to events that a reader cannot find in the cache. These are the pod's name and namespace, which leave the
 * cache with the pod. For a container that was removed before its exit was read, the last status that was read is
 * added, too.
 * @param before the cached status before these events; `undefined` if the pod is new
 * @param after the cached status now; `undefined` if the pod is gone
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
