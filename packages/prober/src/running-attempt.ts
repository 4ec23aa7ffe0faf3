import { abortable, type Clock } from '@node-agent/async';
import { type HttpGetRequest, type HttpGetResult, HttpGetUnderWay } from '@node-agent/pod-net';
import { errorText } from '@node-agent/telemetry';
import type { ProbeTarget } from './attempt.ts';
import type { Deadlines } from './deadlines.ts';
import { httpOutcome } from './outcomes.ts';
import type { ProbeOutcome } from './types.ts';

/** Dependencies of a probe attempt. */
export interface AttemptComponents {
  readonly clock: Clock;
  readonly deadlines: Deadlines<RunningAttempt>;
  /**
   * Returns the request of an HTTP probe that this process sends itself; `undefined` for all other probes.
   * @throws if the request cannot be created
   */
  httpRequest(target: ProbeTarget): HttpGetRequest | undefined;
  /**
   * Makes one try of any other probe.
   * @param timeoutMs remaining time of the target's timeout
   */
  runOther(target: ProbeTarget, timeoutMs: number, signal: AbortSignal): Promise<ProbeOutcome>;
}

/** Number of tries, within the timeout, for a probe that could not be made (`maxProbeRetries`). */
const MAX_TRIES = 3;

/**
 * A probe attempt in progress; the constructor starts it. HTTP probes, of which there are many, use no promise, timer
 * or signal of their own.
 */
export class RunningAttempt {
  readonly #components: AttemptComponents;
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
  constructor(components: AttemptComponents, target: ProbeTarget, done: (outcome: ProbeOutcome) => void) {
    this.#components = components;
    this.#target = target;
    this.#done = done;
    this.#leftMs = target.timeoutMs;
    const nowMs = components.clock.monotonic();
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
    this.#components.deadlines.delete(this, this.#leftMs);
    this.#get.callOff();
  }

  #try(nowMs: number): void {
    this.#tries += 1;
    let request: HttpGetRequest | undefined;
    try {
      request = this.#components.httpRequest(this.#target);
    } catch (error) {
      queueMicrotask(() => this.#onOutcome(errorOutcome(error)));
      return;
    }
    if (request === undefined) void this.#runOther();
    else this.#begin(request, nowMs);
  }

  #begin(request: HttpGetRequest, nowMs: number): void {
    const { clock, deadlines } = this.#components;
    this.#get = new HttpGetUnderWay(request, { clock, deadlineMs: this.#endMs, http2: true }, this.#onHttpResult);
    deadlines.set(this, this.#leftMs, nowMs);
  }

  readonly #onHttpResult = (result: HttpGetResult): void => {
    this.#components.deadlines.delete(this, this.#leftMs);
    this.#onOutcome(httpOutcome(result));
  };

  /**
   * Makes one try of a probe that is not an HTTP probe of this process. After the abort, the port may continue its work,
   * for which the attempt does not wait.
   */
  async #runOther(): Promise<void> {
    this.#ending ??= new AbortController();
    const { signal } = this.#ending;
    let outcome: ProbeOutcome;
    try {
      outcome = await abortable(this.#components.runOther(this.#target, this.#leftMs, signal), signal);
    } catch (error) {
      outcome = errorOutcome(error);
    }
    this.#onOutcome(outcome);
  }

  #onOutcome(outcome: ProbeOutcome): void {
    if (this.#isOver) return;
    const isConclusive = outcome.result !== 'error' && outcome.result !== 'broken';
    if (!isConclusive && this.#tries < MAX_TRIES) {
      const nowMs = this.#components.clock.monotonic();
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
