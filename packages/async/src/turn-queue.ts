import type { Clock, Timer } from './clock.ts';

const queues = new WeakMap<Pick<Clock, 'setTimer'>, TurnQueue>();

/**
 * Resolves in a later turn of the event loop. Each turn resolves only one of these promises, the one that has waited
 * longest. Several long loops that run at the same time therefore block the event loop no longer than one of them.
 * @throws the signal's reason as soon as `signal` is aborted
 */
export function ownTurn(clock: Pick<Clock, 'setTimer'>, signal?: AbortSignal): Promise<void> {
  let queue = queues.get(clock);
  if (queue === undefined) {
    queue = new TurnQueue(clock);
    queues.set(clock, queue);
  }
  return queue.wait(signal);
}

/** The loops that wait for a turn of one clock's event loop, in order of arrival. */
class TurnQueue {
  readonly #clock: Pick<Clock, 'setTimer'>;
  readonly #waiting = new Set<() => void>();
  #timer: Timer | undefined;

  constructor(clock: Pick<Clock, 'setTimer'>) {
    this.#clock = clock;
  }

  wait(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) {
        reject(signal.reason);
        return;
      }
      const go = (): void => {
        signal?.removeEventListener('abort', leave);
        resolve();
      };
      const leave = (): void => {
        this.#waiting.delete(go);
        if (this.#waiting.size === 0) this.#stop();
        reject(signal?.reason);
      };
      signal?.addEventListener('abort', leave, { once: true });
      this.#waiting.add(go);
      this.#timer ??= this.#next();
    });
  }

  #stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  /**
   * Waits for two timers: the first may be called right after the sockets of the present turn were served. Between that
   * call and the next, all other timers and sockets are served.
   */
  #next(): Timer {
    return this.#clock.setTimer(0, () => {
      this.#timer = this.#clock.setTimer(0, () => this.#resumeFirst());
    });
  }

  #resumeFirst(): void {
    const [first] = this.#waiting;
    if (first !== undefined) this.#waiting.delete(first);
    this.#timer = this.#waiting.size > 0 ? this.#next() : undefined;
    first?.();
  }
}
