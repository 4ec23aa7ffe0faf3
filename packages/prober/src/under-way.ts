import { abortable, type Clock } from '@node-agent/async';
import { type HttpGetRequest, type HttpGetResult, HttpGetUnderWay } from '@node-agent/pod-net';
import { errorText } from '@node-agent/telemetry';
import type { ProbeTarget } from './attempt.ts';
import type { Deadlines } from './deadlines.ts';
import { httpOutcome } from './outcomes.ts';
import type { ProbeOutcome } from './types.ts';

/** What a probe is made with. */
export interface ProbeMeans {
  readonly clock: Clock;
  readonly deadlines: Deadlines<ProbeUnderWay>;
  /** What is sent for an HTTP probe from here; `undefined` for all others. @throws where it cannot be */
  httpRequest(target: ProbeTarget): HttpGetRequest | undefined;
  /** One try of all others. @param timeoutMs what is left for it of the target's time */
  ask(target: ProbeTarget, timeoutMs: number, signal: AbortSignal): Promise<ProbeOutcome>;
}

/** A probe that could not be made is tried so often within its time (`maxProbeRetries`). */
const TRIES = 3;

/** A probe that is being made: it begins when this is made. HTTP probes, of which there are many, take no promise, timer or signal of their own. */
export class ProbeUnderWay {
  readonly #means: ProbeMeans;
  readonly #target: ProbeTarget;
  readonly #done: (outcome: ProbeOutcome) => void;
  readonly #endMs: number;
  #tries = 0;
  #isOver = false;
  /** What this try may take. */
  #leftMs: number;
  #get: HttpGetUnderWay | undefined;
  #ending: AbortController | undefined;

  /** @param done is told once; not from within the constructor, nor after {@link callOff} */
  constructor(means: ProbeMeans, target: ProbeTarget, done: (outcome: ProbeOutcome) => void) {
    this.#means = means;
    this.#target = target;
    this.#done = done;
    this.#leftMs = target.timeoutMs;
    const nowMs = means.clock.monotonic();
    this.#endMs = nowMs + target.timeoutMs;
    this.#try(nowMs);
  }

  /** The time of an HTTP probe is up. */
  expire(): void {
    this.#get?.expire();
  }

  /** Nobody wants to know any more. */
  callOff(reason: unknown = new Error('the probe is no longer wanted')): void {
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

  /** What a port does may go on when its signal ends it; the probe does not. */
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
