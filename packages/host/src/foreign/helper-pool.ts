import type { Clock } from '@node-agent/async';
import type { Helper } from '../helper/helper-process.ts';
import { type HelperCallName, type HelperCalls, HOLD_MS } from '../helper/protocol.ts';
import { errorCode } from '../system-error.ts';

/** Components of a {@link HelperPool}. */
export interface HelperPoolComponents {
  readonly clock: Pick<Clock, 'setTimer'>;
  readonly startHelper: () => Helper;
}

interface Running {
  readonly helper: Helper;
  calls: number;
  /** Number of files, directories and devices that the helper holds, or is about to hold, for callers of `hold`. */
  holds: number;
  /**
   * Whether the helper gets no further calls, because a call hangs in it or it is ending. A retired helper is killed
   * once no caller waits for it.
   */
  retired: boolean;
  readonly hungPlaces: Set<string>;
}

/** A file, directory or device that one helper process holds; only that process can release it. */
export interface Held {
  readonly value: HelperCalls['holdBeneath']['value'];
  /** Releases the held file, directory or device. Never throws, and waits no longer than a call may take. */
  release(): Promise<void>;
}

/** Called if a helper process has not responded before the deadline. Returns the error for the caller. */
type OnLate = () => Error;

/**
 * The current helper process and its predecessors. A helper in which a call hangs gets no further calls. The pool kills
 * the helper when no caller waits for the helper or uses a file that it holds. A helper that cannot be killed, because
 * its call sleeps in the kernel, is abandoned.
 */
export class HelperPool {
  readonly #components: HelperPoolComponents;
  readonly #deadlineMs: number;
  /** Number of abandoned helpers that hang in each place, by the result of `placeOf`. */
  readonly #stuck = new Map<string, number>();
  #running: Running | undefined;
  #abandoned = 0;

  constructor(components: HelperPoolComponents, deadlineMs: number) {
    this.#components = components;
    this.#deadlineMs = deadlineMs;
  }

  /** Number of helpers that were killed but have not exited. */
  get abandoned(): number {
    return this.#abandoned;
  }

  /** Returns whether an abandoned helper hangs in the place. */
  isStuck(place: string): boolean {
    return this.#stuck.has(place);
  }

  /**
   * @throws the system's error
   * @throws the error of `onLate`
   * @throws ESRCH if two helpers in a row exit instead of answering
   */
  async ask<Name extends HelperCallName>(
    name: Name,
    args: HelperCalls[Name]['args'],
    place: string,
    onLate: OnLate,
  ): Promise<HelperCalls[Name]['value']> {
    return await this.#again((running) => this.#ask(running, name, args, place, onLate));
  }

  /** Does the same as {@link ask}, for `holdBeneath`. */
  async hold(args: HelperCalls['holdBeneath']['args'], place: string, onLate: OnLate): Promise<Held> {
    return await this.#again(async (running) => {
      // The hold is counted before the call, so that the helper is not killed during the call.
      running.holds++;
      let isLetGo = false;
      const letGo = (): void => {
        if (isLetGo) return;
        isLetGo = true;
        timer.cancel();
        running.holds--;
        this.#endIfIdle(running);
      };
      const timer = this.#components.clock.setTimer(HOLD_MS, letGo);
      const release = async (id: string): Promise<void> => {
        if (isLetGo) return;
        // An error is ignored: a helper that has exited holds nothing, and a helper that does not respond is killed
        // anyway.
        const late = (): Error => new Error('the helper does not answer');
        await this.#ask(running, 'release', [id], undefined, late).catch(() => undefined);
        letGo();
      };
      try {
        const value = await this.#ask(running, 'holdBeneath', args, place, onLate);
        return { value, release: () => release(value.id) };
      } catch (error) {
        letGo();
        throw error;
      }
    });
  }

  async #again<T>(ask: (running: Running) => Promise<T>): Promise<T> {
    try {
      return await ask(this.#helper());
    } catch (error) {
      // The helper exited at the same moment because it was idle, so the call is repeated with a new helper.
      if (errorCode(error) !== 'ESRCH') throw error;
      return await ask(this.#helper());
    }
  }

  async #ask<Name extends HelperCallName>(
    running: Running,
    name: Name,
    args: HelperCalls[Name]['args'],
    place: string | undefined,
    onLate: OnLate,
  ): Promise<HelperCalls[Name]['value']> {
    running.calls++;
    const late = Promise.withResolvers<never>();
    const timer = this.#components.clock.setTimer(this.#deadlineMs, () => {
      if (place !== undefined) running.hungPlaces.add(place);
      this.#retire(running);
      late.reject(onLate());
    });
    try {
      return await Promise.race([running.helper.call(name, args), late.promise]);
    } catch (error) {
      // An ESRCH error may arrive before the exit of the helper is reported, because the helper's channel closes first.
      if (errorCode(error) === 'ESRCH') this.#retire(running);
      throw error;
    } finally {
      timer.cancel();
      running.calls--;
      this.#endIfIdle(running);
    }
  }

  #helper(): Running {
    if (this.#running !== undefined) return this.#running;
    const running: Running = {
      helper: this.#components.startHelper(),
      calls: 0,
      holds: 0,
      retired: false,
      hungPlaces: new Set(),
    };
    this.#running = running;
    void running.helper.ended.then(() => {
      if (this.#running === running) this.#running = undefined;
    });
    return running;
  }

  #retire(running: Running): void {
    running.retired = true;
    if (this.#running === running) this.#running = undefined;
  }

  #endIfIdle({ retired, calls, holds, helper, hungPlaces }: Running): void {
    if (!retired || calls > 0 || holds > 0) return;
    this.#abandoned++;
    for (const place of hungPlaces) this.#stuck.set(place, (this.#stuck.get(place) ?? 0) + 1);
    void helper.ended.then(() => {
      this.#abandoned--;
      for (const place of hungPlaces) {
        const left = (this.#stuck.get(place) ?? 1) - 1;
        if (left > 0) this.#stuck.set(place, left);
        else this.#stuck.delete(place);
      }
    });
    helper.kill();
  }
}
