import type { CoreEvent } from './event.ts';
import { EventSinkError } from './sink-error.ts';

/** The changes to an Event when the event occurs again: a strategic merge patch. */
export type EventPatch = Pick<CoreEvent, 'count' | 'lastTimestamp' | 'message'>;

/**
 * Writes events to the API server. A write that does not end when its signal is aborted is abandoned, and may be
 * repeated.
 */
export interface EventSink {
  /**
   * Creates an event.
   * @throws an error with the `httpStatus` of the response, or without `httpStatus` if there was no response
   */
  createEvent(event: CoreEvent, signal: AbortSignal): Promise<unknown>;
  /**
   * Patches an event.
   * @throws as `createEvent`
   */
  patchEvent(namespace: string, name: string, patch: EventPatch, signal: AbortSignal): Promise<unknown>;
}

/**
 * Writes an event once: creates a new event or patches an existing one. An event that the API has dropped after an hour
 * is created again. @throws EventSinkError; the signal's reason
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
    // An earlier create whose response was lost may have succeeded.
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
