import { systemClock } from '@node-agent/async';
import type { EventRecorder, EventType, ObjectReference } from './events.ts';
import type { Logger } from './logger.ts';

/** An event as a {@link MemoryEventRecorder} keeps it: the same again only counts. */
export interface RecordedEvent {
  readonly object: ObjectReference;
  readonly type: EventType;
  readonly reason: string;
  readonly message: string;
  /** Absent where there are none. */
  readonly annotations?: Readonly<Record<string, string>>;
  readonly count: number;
  /** By the wall clock. */
  readonly firstAtMs: number;
  readonly lastAtMs: number;
}

/** Keeps the newest events of each object in memory: for people who ask, and for tests. */
export class MemoryEventRecorder implements EventRecorder {
  readonly #now: () => number;
  readonly #perObject: number;
  readonly #events = new Map<string, RecordedEvent[]>();

  /**
   * @param now the wall clock, in ms; the machine's own by default
   * @param perObject how many different events of one object are kept; 20 by default
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

  /** The events about an object, all its containers included; the newest last. */
  eventsOf(object: ObjectReference): readonly RecordedEvent[] {
    return this.#events.get(keyOf(object)) ?? [];
  }

  /** Forgets the objects for which `isKnown` is false (K4). */
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

  /** @param level `info` where absent: `debug` is for where events are kept elsewhere too */
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

/** A recorder that tells several others. */
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
