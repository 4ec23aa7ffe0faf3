import type { PodSnapshot } from './snapshot.ts';
import type { PodLifecycleEvent, PodLifecycleEventType } from './types.ts';

type State = 'running' | 'exited' | 'unknown' | 'created' | 'nonExistent';

/**
 * What happened between two looks at a pod: `computeEvents` of `pkg/kubelet/pleg/generic.go`. A sandbox counts as a container that runs
 * while it is ready.
 *
 * | old \ new    | running          | exited        | unknown, created | not there                       |
 * |--------------|------------------|---------------|------------------|---------------------------------|
 * | not there    | ContainerStarted | ContainerDied | ContainerChanged |                                 |
 * | running      |                  | ContainerDied | ContainerChanged | ContainerDied, ContainerRemoved |
 * | exited       | ContainerStarted |               | ContainerChanged | ContainerRemoved                |
 * | unknown      | ContainerStarted | ContainerDied |                  | ContainerDied, ContainerRemoved |
 * | created      | ContainerStarted | ContainerDied |                  | ContainerRemoved                |
 *
 * Other than upstream, what never started does not die: else a pod whose container cannot be started, and is created
 * anew for each try, would wake its own worker without end, past all back-off (P7).
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

/** What `events` and `more` say together: each fact once, in the order of their first coming. */
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
      // That an exited one died has been told already.
      return before === 'exited' || before === 'created' ? ['ContainerRemoved'] : ['ContainerDied', 'ContainerRemoved'];
  }
}
