import { CoalescingQueue } from '@node-agent/async';
import { mergeEvents } from './compute-events.ts';
import type { PodLifecycleEvent } from './types.ts';

/**
 * Queue of events for one reader, grouped by pod, in the order of each pod's first event. The queue never drops an
 * event, however slow the reader is. If the same event is pushed again before delivery, the event is delivered once.
 */
export class EventQueue implements AsyncIterable<PodLifecycleEvent> {
  readonly #pods = new CoalescingQueue<string, readonly PodLifecycleEvent[]>(mergeEvents);

  push(podUid: string, events: readonly PodLifecycleEvent[]): void {
    if (events.length > 0) this.#pods.push(podUid, events);
  }

  /** Number of pods with undelivered events. */
  get size(): number {
    return this.#pods.size;
  }

  /** Closes the queue. Events that are already queued are still delivered. */
  close(): void {
    this.#pods.close();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<PodLifecycleEvent, void, undefined> {
    for await (const [, events] of this.#pods) yield* events;
  }
}
