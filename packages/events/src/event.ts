import { dns1123SubdomainProblem } from '@node-agent/pod-spec';
import type { EventType, ObjectReference } from '@node-agent/telemetry';

/** The source of an event: a component and its node. */
export interface EventSource {
  readonly component: string;
  readonly host: string;
}

/**
 * A core/v1 Event in its JSON form, with the fields that the kubelet writes. The `events.k8s.io` API serves the same
 * object: `involvedObject` is its `regarding`, `message` its `note`, `count` its `deprecatedCount`.
 */
export interface CoreEvent {
  readonly apiVersion: 'v1';
  readonly kind: 'Event';
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly involvedObject: ObjectReference;
  readonly type: EventType;
  readonly reason: string;
  readonly message: string;
  readonly source: EventSource;
  /** The component that reports the event; `reportingController` in `events.k8s.io`. */
  readonly reportingComponent: string;
  readonly reportingInstance: string;
  readonly count: number;
  /** Times of the first and the last occurrence in RFC 3339, in whole seconds. */
  readonly firstTimestamp: string;
  readonly lastTimestamp: string;
}

/** The data of an event when it occurs. */
export interface Occurrence {
  readonly object: ObjectReference;
  readonly type: EventType;
  readonly reason: string;
  readonly message: string;
  readonly annotations?: Readonly<Record<string, string>> | undefined;
  readonly source: EventSource;
  /** Time of the occurrence by the wall clock, in milliseconds since the Unix epoch. */
  readonly atMs: number;
  readonly name: string;
}

/**
 * Returns the Event for one occurrence. If the object has no namespace, the Event is in `default` (`makeEvent` in
 * `tools/record/event.go`).
 */
export function newEvent({ object, type, reason, message, source, atMs, name, ...more }: Occurrence): CoreEvent {
  const at = eventTime(atMs);
  const { annotations = {} } = more;
  return {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: {
      ...{ name, namespace: object.namespace || 'default' },
      ...(Object.keys(annotations).length > 0 && { annotations }),
    },
    involvedObject: { ...object, apiVersion: object.apiVersion ?? 'v1' },
    type,
    reason,
    message,
    source,
    reportingComponent: source.component,
    reportingInstance: source.host,
    count: 1,
    firstTimestamp: at,
    lastTimestamp: at,
  };
}

/**
 * Returns `<object>.<hex of the time in ns>`. If this is not a valid name, returns the result of `fallback`
 * (`GenerateEventName` in `tools/record/util/util.go`).
 */
export function eventName(objectName: string, atNs: bigint, fallback: () => string): string {
  const name = `${objectName}.${atNs.toString(16)}`;
  return dns1123SubdomainProblem(name).length === 0 ? name : fallback();
}

/** Formats a time as in the API. */
function eventTime(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}
