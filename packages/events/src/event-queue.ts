import { Receiver } from '@node-agent/async';
import type { CoreEvent } from './event.ts';

/** A queued event. */
export interface PendingEvent {
  readonly event: CoreEvent;
  /**
   * Whether the event has not been written yet. If false, the queued event is a further occurrence of an existing
   * Event.
   */
  readonly create: boolean;
}

/** The limit of the total length of queued messages, in characters: some messages contain a command of a mebibyte. */
const MAX_CHARACTERS = 16 * 2 ** 20;

/**
 * A queue of at most `limit` events in order of first arrival, for one consumer. A repeated Event replaces the queued
 * event. If the queue is full, the oldest event is dropped. `push` never blocks.
 */
export class EventQueue extends Receiver<PendingEvent> {
  readonly #limit: number;
  readonly #maxCharacters: number;
  readonly #waiting = new Map<string, PendingEvent>();
  /** The total length of queued messages. */
  #characters = 0;

  /** @param maxCharacters the limit of the total length of messages; a longer message may be queued alone */
  constructor(limit: number, maxCharacters: number = MAX_CHARACTERS) {
    super();
    this.#limit = limit;
    this.#maxCharacters = maxCharacters;
  }

  get size(): number {
    return this.#waiting.size;
  }

  /** @returns the events dropped to make room: the oldest ones, or the event itself if the queue is closed */
  push(event: CoreEvent): readonly CoreEvent[] {
    if (this.closed) return [event];
    const key = keyOf(event);
    const before = this.#waiting.get(key);
    this.#set(key, { event, create: before?.create ?? event.count === 1 });
    const dropped: CoreEvent[] = [];
    while (this.#isTooMuch()) {
      const oldest = this.shiftNow();
      if (oldest !== undefined) dropped.push(oldest.event);
    }
    this.wake();
    return dropped;
  }

  /** Puts back an event that was taken but not written. The event becomes the first again, with the newest count. */
  putBack(pending: PendingEvent): void {
    const later = [...this.#waiting.values()];
    this.#waiting.clear();
    this.#characters = 0;
    this.#set(keyOf(pending.event), pending);
    for (const { event, create } of later) {
      const isSame = keyOf(event) === keyOf(pending.event);
      this.#set(keyOf(event), { event, create: isSame ? pending.create : create });
    }
    this.wake();
  }

  /** Returns the first event, or `undefined` if the queue is empty. */
  shiftNow(): PendingEvent | undefined {
    return this.shift()?.value;
  }

  protected override shift(): { readonly value: PendingEvent } | undefined {
    for (const [key, value] of this.#waiting) {
      this.#waiting.delete(key);
      this.#characters -= value.event.message.length;
      return { value };
    }
    return undefined;
  }

  #set(key: string, pending: PendingEvent): void {
    const before = this.#waiting.get(key)?.event.message.length ?? 0;
    this.#characters += pending.event.message.length - before;
    this.#waiting.set(key, pending);
  }

  #isTooMuch(): boolean {
    const { size } = this.#waiting;
    return size > this.#limit || (size > 1 && this.#characters > this.#maxCharacters);
  }
}

function keyOf({ metadata }: CoreEvent): string {
  return `${metadata.namespace}/${metadata.name}`;
}
