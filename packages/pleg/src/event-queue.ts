import { CoalescingQueue } from '@node-agent/async';
import { mergeEvents } from './compute-events.ts';
import type { PodLifecycleEvent } from './types.ts';

/**
 * Events on their way to one reader: pod by pod, in the order in which the pods first had something to tell. However slow the reader, each
 * fact is delivered, and a fact that is told again before it was delivered is delivered once.
 */
export class EventQueue implements AsyncIterable<PodLifecycleEvent> {
  readonly #pods = new CoalescingQueue<string, readonly PodLifecycleEvent[]>(mergeEvents);

  push(podUid: string, events: readonly PodLifecycleEvent[]): void {
    if (events.length > 0) this.#pods.push(podUid, events);
  }

  /** How many pods have something to tell. */
  get size(): number {
    return this.#pods.size;
  }

  /** Ends it; what is there is still delivered. */
  close(): void {
    this.#pods.close();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<PodLifecycleEvent, void, undefined> {
    for await (const [, events] of this.#pods) yield* events;
  }
}
