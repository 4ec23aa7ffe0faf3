import { linkAbort } from '@node-agent/async';
import type { Lane } from './lanes.ts';

/**
 * Runs long work in the background of the control loop, at most one task per lane. Such work may take minutes (an
 * image that the runtime does not remove, a pod that is slow to terminate), while a memory shortage must be handled
 * within seconds.
 */
export class BackgroundWork {
  readonly #untilNextCheck: (signal: AbortSignal) => Promise<void>;
  readonly #inProgress = new Map<Lane, Promise<void>>();
  #failure: { readonly cause: unknown } | undefined;
  /** Whether {@link run} stopped waiting because the next check of the node is due. */
  #isCheckDue = false;

  /** @param untilNextCheck resolves when the node must be checked again, whatever work is in progress */
  constructor(untilNextCheck: (signal: AbortSignal) => Promise<void>) {
    this.#untilNextCheck = untilNextCheck;
  }

  isInProgress(lane: Lane): boolean {
    return this.#inProgress.has(lane);
  }

  /**
   * Starts work in a lane that has none in progress, and waits as {@link waitForNextCheck} does.
   * @returns whether the work has finished. If not, the work continues in the background, and the caller must read new
   * stats and check the node at once, because the stats from before the work are out of date. The next {@link
   * waitForNextCheck} therefore does not wait.
   * @throws the error of the work
   */
  async run(lane: Lane, work: () => Promise<void>, signal: AbortSignal): Promise<boolean> {
    const done = work().finally(() => this.#inProgress.delete(lane));
    done.catch((cause: unknown) => {
      this.#failure = { cause };
    });
    this.#inProgress.set(lane, done);
    await this.#anyWorkOrCheck(signal);
    this.#isCheckDue = this.#inProgress.get(lane) === done;
    return !this.#isCheckDue;
  }

  /**
   * Waits until the next check of the node is due, or until any work in progress has finished. @throws the signal's
   * reason, or the error of failed work
   */
  async waitForNextCheck(signal: AbortSignal): Promise<void> {
    if (!this.#isCheckDue) await this.#anyWorkOrCheck(signal);
    this.#isCheckDue = false;
  }

  async #anyWorkOrCheck(signal: AbortSignal): Promise<void> {
    const failure = this.#takeFailure();
    if (failure !== undefined) throw failure.cause;
    using link = linkAbort(signal);
    const check = this.#untilNextCheck(link.signal);
    check.catch(() => undefined);
    try {
      await Promise.race([...this.#inProgress.values(), check]);
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
    await Promise.allSettled(this.#inProgress.values());
  }
}
