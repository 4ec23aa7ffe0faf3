import { Receiver } from '@node-agent/async';
import type { CoreEvent } from './event.ts';

/** An event that waits to be written. */
export interface PendingEvent {
  readonly event: CoreEvent;
  /** Nobody has tried to write it yet; else it is one more occurrence of an Event that should be there. */
  readonly create: boolean;
}

/** So many characters the messages of all that wait may have: some have a command of a mebibyte in them. */
const MAX_CHARACTERS = 16 * 2 ** 20;

/**
 * At most `limit` events in the order of their first arrival, for one consumer. The same Event again takes the place of
 * the one that waits; where there is no room, the oldest goes. `push` never blocks.
 */
export class EventQueue extends Receiver<PendingEvent> {
  readonly #limit: number;
  readonly #maxCharacters: number;
  readonly #waiting = new Map<string, PendingEvent>();
  /** Of the messages of all that wait. */
  #characters = 0;

  /** @param maxCharacters of all messages together; one that is longer waits alone */
  constructor(limit: number, maxCharacters: number = MAX_CHARACTERS) {
    super();
    this.#limit = limit;
    this.#maxCharacters = maxCharacters;
  }

  get size(): number {
    return this.#waiting.size;
  }

  /** @returns what was dropped for it: the oldest, or itself where the queue is closed */
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

  /** Gives back what was taken and not written: it is the next one again, with the newest count. */
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

  /** The next one, where there is one. */
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
