import type { PodSnapshot } from './snapshot.ts';
import type { PodLifecycleEvent, PodLifecycleEventType } from './types.ts';

type State = 'running' | 'exited' | 'unknown' | 'created' | 'nonExistent';

/**
 * Computes the lifecycle events between two snapshots of a pod, as upstream's `computeEvents`
 * (`pkg/kubelet/pleg/generic.go`). A ready sandbox counts as a running container.
 *
 * | old \ new    | running          | exited        | unknown, created | not there                       |
 * |--------------|------------------|---------------|------------------|---------------------------------|
 * | not there    | ContainerStarted | ContainerDied | ContainerChanged |                                 |
 * | running      |                  | ContainerDied | ContainerChanged | ContainerDied, ContainerRemoved |
 * | exited       | ContainerStarted |               | ContainerChanged | ContainerRemoved                |
 * | unknown      | ContainerStarted | ContainerDied |                  | ContainerDied, ContainerRemoved |
 * | created      | ContainerStarted | ContainerDied |                  | ContainerRemoved                |
 *
 * Difference from upstream: a container that was created but never started causes no ContainerDied when it is removed.
 * Otherwise a pod whose container fails to start, and is recreated for each attempt, would wake its own pod worker in
 * an endless loop that bypasses the back-off (P7).
 */
export function computeEvents(podUid: string, before: PodSnapshot, after: PodSnapshot): readonly PodLifecycleEvent[] {
  const ids = new Set([
    ...before.containers.keys(),
    ...before.sandboxes.keys(),
    ...after.containers.keys(),
    ...after.sandboxes.keys(),
  ]);
  const events: PodLifecycleEvent[] = [];
  for (const containerId of ids) {
    for (const type of eventTypes(stateOf(before, containerId), stateOf(after, containerId))) {
      events.push({ podUid, type, containerId });
    }
  }
  return events;
}

/** Merges two lists of events. Each event is kept once, in the order of first occurrence. */
export function mergeEvents(
  events: readonly PodLifecycleEvent[],
  more: readonly PodLifecycleEvent[],
): readonly PodLifecycleEvent[] {
  const facts = [...events, ...more].map((event) => [`${event.type} ${event.containerId}`, event] as const);
  return [...new Map(facts).values()];
}

function stateOf(snapshot: PodSnapshot, id: string): State {
  const container = snapshot.containers.get(id);
  if (container !== undefined) return container;
  const sandbox = snapshot.sandboxes.get(id);
  if (sandbox !== undefined) return sandbox === 'ready' ? 'running' : 'exited';
  return 'nonExistent';
}

function eventTypes(before: State, after: State): readonly PodLifecycleEventType[] {
  if (before === after) return [];
  switch (after) {
    case 'running':
      return ['ContainerStarted'];
    case 'exited':
      return ['ContainerDied'];
    case 'unknown':
    case 'created':
      return before === 'unknown' || before === 'created' ? [] : ['ContainerChanged'];
    case 'nonExistent':
      // For an exited container, ContainerDied was already sent. A created container never ran.
      return before === 'exited' || before === 'created' ? ['ContainerRemoved'] : ['ContainerDied', 'ContainerRemoved'];
  }
}
