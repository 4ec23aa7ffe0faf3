import { type Clock, systemClock, type Timer } from './clock.ts';
import { DueHeap } from './due-heap.ts';
import { Receiver } from './receiver.ts';

/**
 * Keys that fall due at a time, for one consumer, which wakes at the due instant and not before
 * (`pkg/kubelet/util/queue`, which is polled once a second instead). Each key is in it at most once.
 */
export class WorkQueue<K> extends Receiver<K> {
  readonly #clock: Pick<Clock, 'monotonic' | 'setTimer'>;
  readonly #due = new DueHeap<K>();
  #timer: { readonly timer: Timer; readonly dueMs: number } | undefined;

  /** @param components the machine's clock where absent */
  constructor({ clock = systemClock }: { readonly clock?: Pick<Clock, 'monotonic' | 'setTimer'> } = {}) {
    super();
    this.#clock = clock;
  }

  /** How many keys are in it, due or not. */
  get size(): number {
    return this.#due.size;
  }

  /** Makes the key due `delayMs` from now, whatever it was before. Does nothing once the queue is closed. */
  enqueue(key: K, delayMs: number): void {
    if (this.closed) return;
    this.#due.set(key, this.#clock.monotonic() + Math.max(delayMs, 0));
    this.#schedule();
  }

  /** Makes the key due `delayMs` from now at the latest: an earlier time that it has already stays. */
  enqueueNoLater(key: K, delayMs: number): void {
    const dueMs = this.#due.dueMs(key);
    if (dueMs === undefined || dueMs > this.#clock.monotonic() + delayMs) this.enqueue(key, delayMs);
  }

  /** How long until the key is due, in milliseconds, 0 where it is; `undefined` where it is not in the queue. */
  dueInMs(key: K): number | undefined {
    const dueMs = this.#due.dueMs(key);
    return dueMs === undefined ? undefined : Math.max(dueMs - this.#clock.monotonic(), 0);
  }

  /** @returns whether the key was in the queue */
  delete(key: K): boolean {
    const had = this.#due.delete(key);
    if (had) this.#schedule();
    return had;
  }

  /** Ends it: what is due already is still yielded, what is not is dropped. */
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

  /** Sets the one timer to the earliest key. */
  #schedule(): void {
    const dueMs = this.#due.first()?.dueMs;
    if (dueMs === this.#timer?.dueMs) return;
    this.#cancelTimer();
    if (dueMs === undefined || this.closed) return;
    const timer = this.#clock.setTimer(dueMs - this.#clock.monotonic(), () => {
      this.#timer = undefined;
      // A timer may come a little early, and the system clock caps long delays.
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
