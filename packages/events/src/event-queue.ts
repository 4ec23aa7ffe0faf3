import { Receiver } from '@node-agent/async';
import type { CoreEvent } from './event.ts';

/** An event that waits to be written. */
export interface PendingEvent {
  readonly event: CoreEvent;
  /** Nobody has tried to write it yet; else it is one more occurrence of an Event that should be there. */
  readonly create: boolean;
}

/**
 * At most `limit` events in the order of their first arrival, for one consumer. The same Event again takes the place of
 * the one that waits; where there is no room, the oldest goes. `push` never blocks.
 */
export class EventQueue extends Receiver<PendingEvent> {
  readonly #limit: number;
  readonly #waiting = new Map<string, PendingEvent>();

  constructor(limit: number) {
    super();
    this.#limit = limit;
  }

  get size(): number {
    return this.#waiting.size;
  }

  /** @returns what was dropped for it: the oldest, or itself where the queue is closed */
  push(event: CoreEvent): CoreEvent | undefined {
    if (this.closed) return event;
    const key = keyOf(event);
    const before = this.#waiting.get(key);
    this.#waiting.set(key, { event, create: before?.create ?? event.count === 1 });
    const dropped = this.#waiting.size > this.#limit ? this.shift()?.value.event : undefined;
    this.wake();
    return dropped;
  }

  /** Gives back what was taken and not written: it is the next one again, with the newest count. */
  putBack(pending: PendingEvent): void {
    const later = [...this.#waiting.values()];
    this.#waiting.clear();
    this.#waiting.set(keyOf(pending.event), pending);
    for (const { event, create } of later) {
      const isSame = keyOf(event) === keyOf(pending.event);
      this.#waiting.set(keyOf(event), { event, create: isSame ? pending.create : create });
    }
    this.wake();
  }

  /** The next one, where there is one. */
  shiftNow(): PendingEvent | undefined {
    return this.shift()?.value;
  }

  protected override shift(): { readonly value: PendingEvent } | undefined {
    for (const [key, value] of this.#waiting) {
      this.#waiting.delete(key);
      return { value };
    }
    return undefined;
  }
}

function keyOf({ metadata }: CoreEvent): string {
  return `${metadata.namespace}/${metadata.name}`;
}
