import type { Clock, Random } from '@node-agent/async';
import { eventName } from './event.ts';

/** Generates names of events that are unique even if the clock stands still or goes back. */
export class EventNames {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #random: Random;
  #lastNs = 0n;

  constructor(components: { readonly clock: Pick<Clock, 'now'>; readonly random: Random }) {
    this.#clock = components.clock;
    this.#random = components.random;
  }

  next(objectName: string): string {
    // A double has only microsecond precision for the current time.
    const nowNs = BigInt(Math.floor(this.#clock.now() * 1000)) * 1000n;
    this.#lastNs = nowNs > this.#lastNs ? nowNs : this.#lastNs + 1n;
    return eventName(objectName, this.#lastNs, () => uuid(this.#random));
  }
}

/** Returns a version 4 UUID. */
function uuid(random: Random): string {
  const template = 'xxxxxxxx-xxxx-4xxx-yxxx-xxxxxxxxxxxx';
  return template.replace(/[xy]/g, (place) => {
    const nibble = Math.floor(random.next() * 16);
    return (place === 'x' ? nibble : (nibble & 0x3) | 0x8).toString(16);
  });
}
