import type { Timer } from '@node-agent/async';
import type { PodWorkerActivity, PodWorkerExplanation } from './explanation.ts';
import { History } from './history.ts';
import type { PodWorkerState } from './record.ts';

/** A pod's record together with its runtime objects: timer, abort controller, activity and history. */
export class Worker {
  state: PodWorkerState;
  activity: PodWorkerActivity;
  readonly history: History = new History();
  /** Whether a `begin` event is scheduled. */
  scheduled = false;
  /** Aborts the running step. */
  abort: AbortController | undefined;
  /**
   * Monotonic time at which the last step made its last change. The next step needs a pod status that was read after
   * this time.
   */
  lastSyncMs: number = Number.NEGATIVE_INFINITY;
  /** Monotonic start of the last step that was caused only by an update. */
  lastUpdateMs: number = Number.NEGATIVE_INFINITY;
  /** Whether the current retry is immediate, because the `retryAtMs` of the last error passed while the step ran. */
  retriesImmediately = false;
  #timer: Timer | undefined;

  constructor(state: PodWorkerState) {
    this.state = state;
    this.activity = { kind: 'queued', sinceMs: state.seenAtMs };
  }

  /** Replaces the worker's timer and cancels the previous one. */
  setTimer(timer: Timer | undefined): void {
    this.#timer?.cancel();
    this.#timer = timer;
  }

  explain(holderUid: string | undefined): PodWorkerExplanation {
    const { state } = this;
    const activity = this.activity.kind === 'waitingForFullName' ? { ...this.activity, holderUid } : this.activity;
    return {
      uid: state.uid,
      name: state.name,
      namespace: state.namespace,
      phase: state.phase,
      activity,
      ...(state.gracePeriodSeconds !== undefined && { gracePeriodSeconds: state.gracePeriodSeconds }),
      deleted: state.deleted,
      evicted: state.evicted,
      restartRequested: state.restartRequested,
      history: this.history.entries(),
    };
  }
}
