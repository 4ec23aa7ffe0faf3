import { errorText, type WithDefaults, withDefaults } from '@node-agent/telemetry';
import type { PodWorkersComponents } from './components.ts';
import { observeDuration, observePod, observeStart, type PodWorkersMetrics } from './metrics.ts';
import type { PodStepOutcome, PodWork, PodWorkerEffect } from './record.ts';
import { runStep } from './step.ts';
import type { PodWorkerStep } from './types.ts';
import type { Worker } from './worker.ts';

/** Outcome and error of a step. */
export interface StepEnd {
  readonly outcome: PodStepOutcome;
  readonly error: unknown;
  /** Start of the step, by the monotonic clock. */
  readonly startMs: number;
}

/**
 * Runs steps to their end. Sets the pod worker's activity, and writes the log, the pod's history and the metrics.
 * Reports the events of the pod's record through `onGiven` and `onEnd`. Makes no decisions.
 */
export class StepRunner {
  readonly #components: WithDefaults<PodWorkersComponents>;
  readonly #metrics: PodWorkersMetrics;
  readonly #onGiven: (worker: Worker) => void;
  readonly #onEnd: (worker: Worker, end: StepEnd) => void;
  readonly #running = new Set<Promise<void>>();

  constructor(
    components: PodWorkersComponents,
    metrics: PodWorkersMetrics,
    onGiven: (worker: Worker) => void,
    onEnd: (worker: Worker, end: StepEnd) => void,
  ) {
    this.#components = withDefaults(components);
    this.#metrics = metrics;
    this.#onGiven = onGiven;
    this.#onEnd = onEnd;
  }

  /** Starts a step of a pod worker that runs no step. */
  run(worker: Worker, { step, update, first }: Extract<PodWorkerEffect, { kind: 'run' }>): void {
    if (first && worker.state.startedAtMs !== undefined) observePod(this.#metrics, update);
    if (step === 'syncPod') observeStart(this.#metrics, update, this.#components.clock.now());
    const running = this.#runToEnd(worker, step, update).finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  /** Waits until the running steps have ended. */
  async ended(): Promise<void> {
    await Promise.all(this.#running);
  }

  async #runToEnd(worker: Worker, step: PodWorkerStep, update: PodWork): Promise<void> {
    const { clock } = this.#components;
    const startMs = clock.monotonic();
    const abort = new AbortController();
    worker.abort = abort;
    worker.setTimer(undefined);
    worker.activity = { kind: 'waitingForStatus', sinceMs: clock.now(), cancelled: false };
    let synced = false;
    let idle = false;
    let doneAtMs: number | undefined;
    let end: StepEnd;
    try {
      const context = {
        ...this.#components,
        lastSyncMs: worker.lastSyncMs,
        state: () => worker.state,
        onStatus: () => {
          synced = true;
          worker.activity = { kind: 'running', sinceMs: clock.now(), step, cancelled: false };
          this.#onGiven(worker);
        },
      };
      const result = await runStep(step, update, context, abort.signal);
      end = { outcome: result.isTerminal ? 'terminal' : 'done', error: result.error, startMs };
      idle = result.idle ?? false;
      doneAtMs = result.doneAtMs;
    } catch (thrown) {
      const error = thrown ?? new Error('the step threw undefined');
      end = { outcome: abort.signal.aborted ? 'cancelled' : 'failed', error, startMs };
    }
    if (synced && !idle) worker.lastSyncMs = doneAtMs ?? clock.monotonic();
    worker.abort = undefined;
    this.#record(worker, step, end, clock.monotonic() - startMs);
    this.#onEnd(worker, end);
    const finished = step === 'syncTerminatedPod' && end.outcome === 'done';
    observeDuration(this.#metrics, update, finished, clock.monotonic());
  }

  #record({ state, history }: Worker, step: PodWorkerStep, { outcome, error }: StepEnd, durationMs: number): void {
    const { clock, logger } = this.#components;
    const atMs = clock.now();
    const failure = error === undefined ? {} : { error: errorText(error) };
    history.add({ atMs, what: step, phase: state.phase, durationMs, outcome, ...failure });
    const fields = { podUid: state.uid, pod: `${state.namespace}/${state.name}`, step };
    if (error !== undefined && outcome !== 'cancelled')
      logger.error({ ...fields, err: error }, 'Error syncing pod, skipping');
    else logger.debug({ ...fields, outcome, durationMs }, 'Pod step ended');
  }
}
