import type { Clock } from '@node-agent/async';
import type { Helper } from '../helper/helper-process.ts';
import { type HelperCallName, type HelperCalls, HOLD_MS } from '../helper/protocol.ts';
import { errorCode } from '../system-error.ts';

/** What {@link HelperPool} works with. */
export interface HelperPoolComponents {
  readonly clock: Pick<Clock, 'setTimer'>;
  readonly startHelper: () => Helper;
}

interface Running {
  readonly helper: Helper;
  calls: number;
  /** What it holds is in use elsewhere. */
  holds: number;
  /** Something in it hangs, or it ends: it is asked nothing more, and killed once nobody waits for it. */
  retired: boolean;
  readonly hungPlaces: Set<string>;
}

/** Something that one helper holds, and only that one knows. */
export interface Held {
  readonly value: HelperCalls['holdBeneath']['value'];
  /** Never throws, and waits no longer than a call. */
  release(): Promise<void>;
}

/** What is done when there is no answer in time: makes the error. */
type OnLate = () => Error;

/**
 * The helper process that is asked, and those before it: one in which something hangs is asked no more, and killed when
 * nobody waits for it or uses what it holds. One that cannot be killed, as its call sleeps in the kernel for good, is abandoned.
 */
export class HelperPool {
  readonly #components: HelperPoolComponents;
  readonly #deadlineMs: number;
  /** How many abandoned ones hang in a place. */
  readonly #stuck = new Map<string, number>();
  #running: Running | undefined;
  #abandoned = 0;

  constructor(components: HelperPoolComponents, deadlineMs: number) {
    this.#components = components;
    this.#deadlineMs = deadlineMs;
  }

  /** Helpers that were killed and have not ended. */
  get abandoned(): number {
    return this.#abandoned;
  }

  /** Whether one of them asked for a place, and hangs there. */
  isStuck(place: string): boolean {
    return this.#stuck.has(place);
  }

  /** @throws the system's error; what `onLate` makes; ESRCH where two helpers in a row end instead of an answer */
  async ask<Name extends HelperCallName>(
    name: Name,
    args: HelperCalls[Name]['args'],
    place: string,
    onLate: OnLate,
  ): Promise<HelperCalls[Name]['value']> {
    return await this.#again((running) => this.#ask(running, name, args, place, onLate));
  }

  /** As {@link ask} for `holdBeneath`. */
  async hold(args: HelperCalls['holdBeneath']['args'], place: string, onLate: OnLate): Promise<Held> {
    return await this.#again(async (running) => {
      // Before it is held: a helper is not killed in between.
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
        // One that has ended holds nothing, and one that does not answer is not waited for.
        const late = (): Error => new Error('it does not answer');
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
      // It ended in the same instant, having had nothing to do for a while: another one is asked.
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
      // Its channel closes before its end is heard.
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
