import type { CoreEvent } from './event.ts';
import { EventSinkError } from './sink-error.ts';

/** What changes in an Event when it happens again: a strategic merge patch. */
export type EventPatch = Pick<CoreEvent, 'count' | 'lastTimestamp' | 'message'>;

/**
 * Where events are written: the API server, through a client of its own. A write that does not end when its signal is aborted is left to
 * itself, and may be made again.
 */
export interface EventSink {
  /** @throws an error whose `httpStatus` is that of the answer; without one no answer came */
  createEvent(event: CoreEvent, signal: AbortSignal): Promise<unknown>;
  /** @throws as `createEvent` */
  patchEvent(namespace: string, name: string, patch: EventPatch, signal: AbortSignal): Promise<unknown>;
}

/**
 * Writes an event once: one that is new is made, another patched, and made where it is gone (it lives for an hour in the
 * API). @throws EventSinkError; the signal's reason
 */
export async function writeEvent(
  sink: EventSink,
  { event, create }: { readonly event: CoreEvent; readonly create: boolean },
  signal: AbortSignal,
): Promise<void> {
  try {
    if (create || !(await patched(sink, event, signal))) await sink.createEvent(event, signal);
  } catch (error) {
    signal.throwIfAborted();
    const known = EventSinkError.from(error);
    // A create of which no answer was heard may have come through.
    if (known.code !== 'Exists') throw known;
  }
}

async function patched(sink: EventSink, event: CoreEvent, signal: AbortSignal): Promise<boolean> {
  const { metadata, count, lastTimestamp, message } = event;
  try {
    await sink.patchEvent(metadata.namespace, metadata.name, { count, lastTimestamp, message }, signal);
    return true;
  } catch (error) {
    signal.throwIfAborted();
    if (EventSinkError.from(error).code === 'NotFound') return false;
    throw error;
  }
}
