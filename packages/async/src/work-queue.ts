import { type Clock, systemClock, type Timer } from './clock.ts';
import { DueHeap } from './due-heap.ts';
import { Receiver } from './receiver.ts';

/**
 * A queue of keys with due times, for one consumer. The consumer wakes only when a key is due. (Upstream's
 * `pkg/kubelet/util/queue` is polled once a second.) Each key is in the queue at most once.
 */
export class WorkQueue<K> extends Receiver<K> {
  readonly #clock: Pick<Clock, 'monotonic' | 'setTimer'>;
  readonly #due = new DueHeap<K>();
  #timer: { readonly timer: Timer; readonly dueMs: number } | undefined;

  /** @param components if `clock` is absent, the system clock is used */
  constructor({ clock = systemClock }: { readonly clock?: Pick<Clock, 'monotonic' | 'setTimer'> } = {}) {
    super();
    this.#clock = clock;
  }

  /** Number of keys in the queue, due or not. */
  get size(): number {
    return this.#due.size;
  }

  /** Makes the key due after `delayMs`, replacing an earlier due time. Does nothing once the queue is closed. */
  enqueue(key: K, delayMs: number): void {
    if (this.closed) return;
    this.#due.set(key, this.#clock.monotonic() + Math.max(delayMs, 0));
    this.#schedule();
  }

  /** Makes the key due after `delayMs` at the latest. An earlier due time of the key is kept. */
  enqueueNoLater(key: K, delayMs: number): void {
    const dueMs = this.#due.dueMs(key);
    if (dueMs === undefined || dueMs > this.#clock.monotonic() + delayMs) this.enqueue(key, delayMs);
  }

  /**
   * Returns the milliseconds until the key is due: 0 if the key is already due, `undefined` if the key is not in the
   * queue.
   */
  dueInMs(key: K): number | undefined {
    const dueMs = this.#due.dueMs(key);
    return dueMs === undefined ? undefined : Math.max(dueMs - this.#clock.monotonic(), 0);
  }

  /** Removes the key. @returns whether the key was in the queue */
  delete(key: K): boolean {
    const had = this.#due.delete(key);
    if (had) this.#schedule();
    return had;
  }

  /** Closes the queue: keys that are already due are still yielded, later keys are dropped. */
  override close(): void {
    this.#due.dropAfter(this.#clock.monotonic());
    this.#cancelTimer();
    super.close();
  }

  protected override shift(): { readonly value: K } | undefined {
    const earliest = this.#due.first();
    if (earliest === undefined || earliest.dueMs > this.#clock.monotonic()) return undefined;
    this.#due.delete(earliest.key);
    this.#schedule();
    return { value: earliest.key };
  }

  /** Sets the queue's only timer to the due time of the earliest key. */
  #schedule(): void {
    const dueMs = this.#due.first()?.dueMs;
    if (dueMs === this.#timer?.dueMs) return;
    this.#cancelTimer();
    if (dueMs === undefined || this.closed) return;
    const timer = this.#clock.setTimer(dueMs - this.#clock.monotonic(), () => {
      this.#timer = undefined;
      // The key may not be due yet: a timer may fire slightly early, and the system clock caps long delays.
      if (this.#clock.monotonic() < dueMs) this.#schedule();
      else this.wake();
    });
    this.#timer = { timer, dueMs };
  }

  #cancelTimer(): void {
    this.#timer?.timer.cancel();
    this.#timer = undefined;
  }
}
