import { abortable, type Clock } from '@node-agent/async';
import { type HttpGetRequest, type HttpGetResult, HttpGetUnderWay } from '@node-agent/pod-net';
import { errorText } from '@node-agent/telemetry';
import type { ProbeTarget } from './attempt.ts';
import type { Deadlines } from './deadlines.ts';
import { httpOutcome } from './outcomes.ts';
import type { ProbeOutcome } from './types.ts';

/** Dependencies of a probe attempt. */
export interface ProbeMeans {
  readonly clock: Clock;
  readonly deadlines: Deadlines<ProbeUnderWay>;
  /**
   * Returns the request of an HTTP probe that this process sends itself; `undefined` for all other probes.
   * @throws if the request cannot be created
   */
  httpRequest(target: ProbeTarget): HttpGetRequest | undefined;
  /**
   * Makes one try of any other probe.
   * @param timeoutMs remaining time of the target's timeout
   */
  ask(target: ProbeTarget, timeoutMs: number, signal: AbortSignal): Promise<ProbeOutcome>;
}

/** Number of tries, within the timeout, for a probe that could not be made (`maxProbeRetries`). */
const TRIES = 3;

/**
 * A probe attempt in progress; the constructor starts it. HTTP probes, of which there are many, use no promise, timer
 * or signal of their own.
 */
export class ProbeUnderWay {
  readonly #means: ProbeMeans;
  readonly #target: ProbeTarget;
  readonly #done: (outcome: ProbeOutcome) => void;
  readonly #endMs: number;
  #tries = 0;
  #isOver = false;
  /** Remaining time for the current try. */
  #leftMs: number;
  #get: HttpGetUnderWay | undefined;
  #ending: AbortController | undefined;

  /** @param done called once with the outcome; never from within the constructor, nor after {@link callOff} */
  constructor(means: ProbeMeans, target: ProbeTarget, done: (outcome: ProbeOutcome) => void) {
    this.#means = means;
    this.#target = target;
    this.#done = done;
    this.#leftMs = target.timeoutMs;
    const nowMs = means.clock.monotonic();
    this.#endMs = nowMs + target.timeoutMs;
    this.#try(nowMs);
  }

  /** Ends an HTTP probe whose timeout has passed. */
  expire(): void {
    this.#get?.expire();
  }

  /** Cancels the attempt; `done` is not called. */
  callOff(reason: unknown = new Error('the probe was cancelled')): void {
    this.#isOver = true;
    this.#ending?.abort(reason);
    if (this.#get === undefined) return;
    this.#means.deadlines.delete(this, this.#leftMs);
    this.#get.callOff();
  }

  #try(nowMs: number): void {
    this.#tries += 1;
    let request: HttpGetRequest | undefined;
    try {
      request = this.#means.httpRequest(this.#target);
    } catch (error) {
      queueMicrotask(() => this.#found(errorOutcome(error)));
      return;
    }
    if (request === undefined) void this.#ask();
    else this.#begin(request, nowMs);
  }

  #begin(request: HttpGetRequest, nowMs: number): void {
    const { clock, deadlines } = this.#means;
    this.#get = new HttpGetUnderWay(request, { clock, deadlineMs: this.#endMs, http2: true }, this.#answered);
    deadlines.set(this, this.#leftMs, nowMs);
  }

  readonly #answered = (result: HttpGetResult): void => {
    this.#means.deadlines.delete(this, this.#leftMs);
    this.#found(httpOutcome(result));
  };

  /** The port may continue its work after the abort; the attempt does not wait for it. */
  async #ask(): Promise<void> {
    this.#ending ??= new AbortController();
    const { signal } = this.#ending;
    let outcome: ProbeOutcome;
    try {
      outcome = await abortable(this.#means.ask(this.#target, this.#leftMs, signal), signal);
    } catch (error) {
      outcome = errorOutcome(error);
    }
    this.#found(outcome);
  }

  #found(outcome: ProbeOutcome): void {
    if (this.#isOver) return;
    const wasMade = outcome.result !== 'error' && outcome.result !== 'broken';
    if (!wasMade && this.#tries < TRIES) {
      const nowMs = this.#means.clock.monotonic();
      this.#leftMs = this.#endMs - nowMs;
      if (this.#leftMs > 0) {
        this.#try(nowMs);
        return;
      }
    }
    this.#isOver = true;
    this.#done(outcome);
  }
}

function errorOutcome(error: unknown): ProbeOutcome {
  return { result: 'error', output: errorText(error) };
}
