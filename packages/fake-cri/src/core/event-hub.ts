import type { Clock } from '@node-agent/async';
import type { ContainerEventResponse } from '@node-agent/cri-client';
import { failure } from './failure.ts';

/** Time for which events are kept for a first subscriber, as in containerd. */
const BACKLOG_MS = 5 * 60_000;

interface Subscriber {
  readonly queue: ContainerEventResponse[];
  wake: () => void;
  failed: unknown;
}

/**
 * Returns one entry per delivery of an event. An empty array drops the event. A delayed event can be overtaken by later
 * events.
 */
export type EventDelivery = (event: ContainerEventResponse) => readonly { readonly delayMs: number }[];

/**
 * Delivers every event to every subscriber, in order. While there is no subscriber, events are kept for up to five
 * minutes for the first subscriber.
 */
export class EventHub {
  readonly #clock: Clock;
  readonly #deliver: EventDelivery;
  readonly #subscribers = new Set<Subscriber>();
  #epoch = 0;
  #backlog: { readonly event: ContainerEventResponse; readonly atMs: number }[] = [];

  constructor(clock: Clock, deliver: EventDelivery) {
    this.#clock = clock;
    this.#deliver = deliver;
  }

  publish(event: ContainerEventResponse): void {
    const epoch = this.#epoch;
    for (const { delayMs } of this.#deliver(event)) {
      if (delayMs <= 0) this.#send(event);
      else {
        this.#clock.setTimer(delayMs, () => {
          if (this.#epoch === epoch) this.#send(event);
        });
      }
    }
  }

  /**
   * Ends every stream with `reason` and discards undelivered events, because the runtime's process that held the events
   * has died.
   */
  crash(reason: unknown): void {
    this.#epoch++;
    this.#backlog = [];
    for (const subscriber of this.#subscribers) {
      subscriber.failed = reason;
      subscriber.wake();
    }
    this.#subscribers.clear();
  }

  async *subscribe(signal: AbortSignal): AsyncGenerator<ContainerEventResponse> {
    const subscriber: Subscriber = { queue: this.#takeBacklog(), wake: () => {}, failed: undefined };
    this.#subscribers.add(subscriber);
    const onAbort = (): void => subscriber.wake();
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      for (;;) {
        if (signal.aborted) throw failure('CANCELLED', 'the stream was cancelled');
        const event = subscriber.queue.shift();
        if (event !== undefined) yield event;
        else if (subscriber.failed !== undefined) throw subscriber.failed;
        else {
          await new Promise<void>((resolve) => {
            subscriber.wake = resolve;
          });
        }
      }
    } finally {
      signal.removeEventListener('abort', onAbort);
      this.#subscribers.delete(subscriber);
    }
  }

  #send(event: ContainerEventResponse): void {
    if (this.#subscribers.size === 0) this.#backlog.push({ event, atMs: this.#clock.monotonic() });
    for (const subscriber of this.#subscribers) {
      subscriber.queue.push(event);
      subscriber.wake();
    }
  }

  #takeBacklog(): ContainerEventResponse[] {
    const since = this.#clock.monotonic() - BACKLOG_MS;
    const fresh = this.#backlog.filter(({ atMs }) => atMs > since).map(({ event }) => event);
    this.#backlog = [];
    return fresh;
  }
}
