import { linkAbort } from '@node-agent/async';
import { conditionOf, type Signal } from './signals.ts';

/**
 * Independent lanes of eviction work. `disk`: disk thresholds and local storage limits. `node`: all other thresholds.
 * Work in one lane does not wait for work in the other.
 */
export type Lane = 'disk' | 'node';

export const LANES: readonly Lane[] = ['disk', 'node'];

export function laneOf(signal: Signal): Lane {
  return conditionOf(signal) === 'DiskPressure' ? 'disk' : 'node';
}

/**
 * Runs long work in the background of the control loop, at most one piece per lane. Such work may take minutes (an
 * image that the runtime does not remove, a pod that is slow to terminate), while a memory shortage must be handled
 * within seconds.
 */
export class Aside {
  readonly #nextLook: (signal: AbortSignal) => Promise<void>;
  readonly #underWay = new Map<Lane, Promise<void>>();
  #failure: { readonly cause: unknown } | undefined;
  #isLookDue = false;

  /** @param nextLook resolves when the control loop must check the node again, whatever work is in progress */
  constructor(nextLook: (signal: AbortSignal) => Promise<void>) {
    this.#nextLook = nextLook;
  }

  isUnderWay(lane: Lane): boolean {
    return this.#underWay.has(lane);
  }

  /**
   * Whether {@link run} returned because the next check of the node is due. Stats that were taken before are then out
   * of date.
   */
  get isLookDue(): boolean {
    return this.#isLookDue;
  }

  /**
   * Starts work in a lane that has none in progress, and waits as {@link wait} does.
   * @returns whether the work has finished; if not, it continues in the background
   * @throws the error of the work
   */
  async run(lane: Lane, work: () => Promise<void>, signal: AbortSignal): Promise<boolean> {
    const done = work().finally(() => this.#underWay.delete(lane));
    done.catch((cause: unknown) => {
      this.#failure = { cause };
    });
    this.#underWay.set(lane, done);
    await this.#endOrLook(signal);
    this.#isLookDue = this.#underWay.get(lane) === done;
    return !this.#isLookDue;
  }

  /**
   * Waits until the next check of the node is due, or until any work in progress has finished. @throws the signal's
   * reason, or the error of failed work
   */
  async wait(signal: AbortSignal): Promise<void> {
    if (!this.#isLookDue) await this.#endOrLook(signal);
    this.#isLookDue = false;
  }

  async #endOrLook(signal: AbortSignal): Promise<void> {
    const failure = this.#takeFailure();
    if (failure !== undefined) throw failure.cause;
    using link = linkAbort(signal);
    const look = this.#nextLook(link.signal);
    look.catch(() => undefined);
    try {
      await Promise.race([...this.#underWay.values(), look]);
    } catch (err) {
      if (this.#failure?.cause === err) this.#takeFailure();
      throw err;
    } finally {
      link.abort();
    }
  }

  /** Returns the failure and clears it, so that each failure is thrown once. */
  #takeFailure(): { readonly cause: unknown } | undefined {
    const failure = this.#failure;
    this.#failure = undefined;
    return failure;
  }

  /** Waits until all work in progress has finished or failed. */
  async ended(): Promise<void> {
    await Promise.allSettled(this.#underWay.values());
  }
}
