import type { Clock } from '@node-agent/async';
import type { UnansweredCall } from './plugin.ts';

/** Records calls to helper programs without a response, so that a user can see why a pod waits. */
export class UnansweredCalls {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #calls = new Map<string, UnansweredCall>();

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  /**
   * Makes a call. @param key identifies the volume. @param what description of the call: `mount of nfs server:/path`.
   * @throws the call's error
   */
  async during<T>(key: string, what: string, call: () => Promise<T>): Promise<T> {
    const unanswered = { what, sinceMs: this.#clock.monotonic() };
    this.#calls.set(key, unanswered);
    try {
      return await call();
    } finally {
      if (this.#calls.get(key) === unanswered) this.#calls.delete(key);
    }
  }

  /** Returns the call for a volume without a response; `undefined` if there is none. */
  of(key: string): UnansweredCall | undefined {
    return this.#calls.get(key);
  }
}
