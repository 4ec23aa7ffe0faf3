import type { Timer } from '@node-agent/async';
import type { PodWorkerActivity, PodWorkerExplanation } from './explanation.ts';
import { History } from './history.ts';
import type { PodWorkerState } from './record.ts';

/** A pod's record with what belongs to the running program: timer, abort, and what there is to tell. */
export class Worker {
  state: PodWorkerState;
  activity: PodWorkerActivity;
  readonly history: History = new History();
  /** A begin is on its way. */
  scheduled = false;
  /** Aborts the running step. */
  abort: AbortController | undefined;
  /** When the last step of the pod had done what it did, by the monotonic clock: the next one needs a status from after that. */
  lastSyncMs: number = Number.NEGATIVE_INFINITY;
  /** When the last step began that an update alone had brought, by the monotonic clock. */
  lastUpdateMs: number = Number.NEGATIVE_INFINITY;
  /** The last failed step is tried again at once, as the time that its error asks for came while it went on. */
  hurries = false;
  #timer: Timer | undefined;

  constructor(state: PodWorkerState) {
    this.state = state;
    this.activity = { kind: 'queued', sinceMs: state.seenAtMs };
  }

  /** Makes `timer` the worker's only one. */
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
