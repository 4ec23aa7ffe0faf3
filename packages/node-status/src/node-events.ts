import { type EventRecorder, type EventType, eventReasons, type ObjectReference } from '@node-agent/telemetry';
import type { Node } from './node.ts';
import { pressureEvents } from './pressure.ts';
import { readyEvents } from './readiness.ts';

/** An event about the node. */
export interface NodeEvent {
  readonly type: EventType;
  readonly reason: string;
  readonly message: string;
}

/** Returns the events for a written change of the node's status (`kubelet_node_status.go`, `nodestatus/setters.go`). */
export function nodeEvents(name: string, before: Node, after: Node): readonly NodeEvent[] {
  const reasons = [...pressureEvents(before, after), ...readyEvents(before, after)];
  const events = reasons.map((reason): NodeEvent => statusEvent(name, reason));
  const [oldBoot, boot] = [before.status?.nodeInfo?.bootID ?? '', after.status?.nodeInfo?.bootID ?? ''];
  if (oldBoot === '' || boot === '' || oldBoot === boot) return events;
  const message = `Node ${name} has been rebooted, boot id: ${boot}`;
  return [{ type: 'Warning', reason: eventReasons.nodeRebooted, message }, ...events];
}

/** Returns the event that reports whether pods may be scheduled to the node. */
export function schedulableEvent(name: string, unschedulable: boolean): NodeEvent {
  return statusEvent(name, unschedulable ? 'NodeNotSchedulable' : 'NodeSchedulable');
}

function statusEvent(name: string, reason: string): NodeEvent {
  return { type: 'Normal', reason, message: `Node ${name} status is now: ${reason}` };
}

/** Returns the reference for events about a node. As in upstream's events, the name is used as UID. */
export function nodeReference(name: string): ObjectReference {
  return { kind: 'Node', name, uid: name };
}

/** Records events about a node. */
export function recordNodeEvents(recorder: EventRecorder, name: string, events: readonly NodeEvent[]): void {
  for (const { type, reason, message } of events) recorder.event(nodeReference(name), type, reason, message);
}
