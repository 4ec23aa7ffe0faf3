import { systemClock } from '@node-agent/async';
import type { EventRecorder, EventType, ObjectReference } from './events.ts';
import type { Logger } from './logger.ts';

/** An event in a {@link MemoryEventRecorder}. A repeated event increments `count`. */
export interface RecordedEvent {
  readonly object: ObjectReference;
  readonly type: EventType;
  readonly reason: string;
  readonly message: string;
  /** Annotations of the event; absent if there are none. */
  readonly annotations?: Readonly<Record<string, string>>;
  readonly count: number;
  /** Wall clock time of the first occurrence, in ms. */
  readonly firstAtMs: number;
  readonly lastAtMs: number;
}

/** Keeps the newest events of each object in memory, for explanations and tests. */
export class MemoryEventRecorder implements EventRecorder {
  readonly #now: () => number;
  readonly #perObject: number;
  readonly #events = new Map<string, RecordedEvent[]>();

  /**
   * @param now returns the wall clock time, in ms. Default: the system clock.
   * @param perObject number of distinct events kept per object. Default: 20.
   */
  constructor(now: () => number = systemClock.now, perObject = 20) {
    this.#now = now;
    this.#perObject = perObject;
  }

  event(
    object: ObjectReference,
    type: EventType,
    reason: string,
    message: string,
    annotations: Readonly<Record<string, string>> = {},
  ): void {
    const key = keyOf(object);
    const events = this.#events.get(key) ?? [];
    const nowMs = this.#now();
    const known = events.findIndex(
      (event) => event.reason === reason && event.message === message && event.object.fieldPath === object.fieldPath,
    );
    const before = known >= 0 ? events.splice(known, 1)[0] : undefined;
    const { count = 0, firstAtMs = nowMs } = before ?? {};
    const told = { object, type, reason, message, ...(Object.keys(annotations).length > 0 && { annotations }) };
    events.push({ ...told, count: count + 1, firstAtMs, lastAtMs: nowMs });
    this.#events.set(key, events.slice(-this.#perObject));
  }

  /** Returns the events of an object and of all its containers, oldest first. */
  eventsOf(object: ObjectReference): readonly RecordedEvent[] {
    return this.#events.get(keyOf(object)) ?? [];
  }

  /** Returns the events of all objects. The events of one object are in their order, oldest first. */
  all(): readonly RecordedEvent[] {
    return [...this.#events.values()].flat();
  }

  /** Removes the events of objects for which `isKnown` returns false (K4). */
  retain(isKnown: (object: ObjectReference) => boolean): void {
    for (const [key, [first]] of this.#events) if (first && !isKnown(first.object)) this.#events.delete(key);
  }
}

/**
 * Writes each event as a log line with the message `Event occurred` and client-go's fields: `object="default/web"
 * fieldPath="spec.containers{c}" kind="Pod" apiVersion="v1" type="Normal" reason="Started" message="..."`
 * (`k8s.io/client-go/tools/record/event.go: StartStructuredLogging`), and the object's `uid` after them.
 */
export class LoggingEventRecorder implements EventRecorder {
  readonly #logger: Logger;
  readonly #level: 'info' | 'debug';

  /** @param level level of the log lines. Default: `info`. Use `debug` if the events are also stored elsewhere. */
  constructor(logger: Logger, level: 'info' | 'debug' = 'info') {
    this.#logger = logger;
    this.#level = level;
  }

  event(object: ObjectReference, type: EventType, reason: string, message: string): void {
    const { kind, apiVersion = '', namespace = '', name, uid, fieldPath = '' } = object;
    const about = { object: namespace === '' ? name : `${namespace}/${name}`, fieldPath, kind, apiVersion };
    this.#logger[this.#level]({ ...about, type, reason, message, ...(uid && { uid }) }, 'Event occurred');
  }
}

/** Returns a recorder that passes each event to several recorders. */
export function fanOutEvents(recorders: readonly EventRecorder[]): EventRecorder {
  return {
    event(...event) {
      for (const recorder of recorders) recorder.event(...event);
    },
  };
}

function keyOf({ kind, namespace = '', name, uid = '' }: ObjectReference): string {
  return [kind, namespace, name, uid].join('/');
}
