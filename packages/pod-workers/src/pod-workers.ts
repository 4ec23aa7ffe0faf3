import { checkComponents, checkOptions } from '@node-agent/async';
import type { Pod } from '@node-agent/pod-spec';
import { errorText, type WithDefaults, withDefaults } from '@node-agent/telemetry';
import type { PodWorkersComponents, PodWorkersOptions } from './components.ts';
import { PodWorkersError } from './errors.ts';
import type { PodWorkerExplanation } from './explanation.ts';
import { fullNameBlocker, fullNameClaim, isFullNameBlocked } from './full-name-claim.ts';
import { FullNameTurns } from './full-name-turns.ts';
import { isUnchanged } from './housekeeping-rule.ts';
import { killPodNow } from './kill-pod-now.ts';
import { countWorkingPods, createPodWorkersMetrics, type PodWorkersMetrics } from './metrics.ts';
import * as predicates from './predicates.ts';
import { claimsFullName, type PodWorkerEffect, type PodWorkerEvent } from './record.ts';
import { retryDelayMs } from './retry-delay.ts';
import { nextPodWorkerState } from './state.ts';
import { nothingRuns } from './step.ts';
import { type StepEnd, StepRunner } from './step-runner.ts';
import type { KillPodOptions, PodWorkerSync, UpdatePodOptions } from './types.ts';
import { updateDelayMs } from './update-delay.ts';
import { identityOf } from './update-rule.ts';
import { Worker } from './worker.ts';

/**
 * Interval at which the pod worker checks whether another pod of the same name, known only to the runtime, still runs.
 */
const FULL_NAME_CHECK_MS = 500;

/**
 * Keeps one state machine per pod UID (P1): which pods this node runs, and when each of their steps may run. {@link
 * nextPodWorkerState} holds the rules. This class performs the effects of these rules: it runs one step per pod at a
 * time (P2), schedules retries and serializes static pods of one full name. Upstream: `pkg/kubelet/pod_workers.go`.
 */
export class PodWorkers implements AsyncDisposable {
  readonly #components: WithDefaults<PodWorkersComponents>;
  readonly #options: Required<PodWorkersOptions>;
  readonly #metrics: PodWorkersMetrics;
  readonly #workers = new Map<string, Worker>();
  readonly #turns = new FullNameTurns();
  readonly #runner: StepRunner;
  /** Resolved to end the wait of {@link start}. */
  readonly #stopped = Promise.withResolvers<void>();
  /** Reject functions of the callers that wait for a kill. */
  readonly #waiting = new Set<(reason: unknown) => void>();
  #podsSynced = false;
  /** UIDs of pods that terminated and were forgotten before the first {@link syncKnownPods}. */
  readonly #terminatedEarly = new Set<string>();
  #lifecycle: 'new' | 'started' | 'stopped' = 'new';

  /** @throws OptionsError naming the invalid component or option */
  constructor(given: PodWorkersComponents, options: PodWorkersOptions = {}) {
    const asked = checkOptions('PodWorkers', options, {
      resyncIntervalMs: 'positive?',
      backOffMs: 'notNegative?',
      updateSpacingMs: 'notNegative?',
    });
    checkComponents('PodWorkers', given, {
      syncer: ['syncPod', 'syncTerminatingPod', 'syncTerminatingRuntimePod', 'syncTerminatedPod'],
      podCache: ['get', 'hasSeen', 'runningPods', 'getNewerThan'],
    });
    const components = withDefaults(given);
    this.#components = components;
    this.#options = { resyncIntervalMs: 60_000, backOffMs: 10_000, updateSpacingMs: 100, ...asked };
    this.#metrics = createPodWorkersMetrics(components.metrics);
    this.#runner = new StepRunner(
      components,
      this.#metrics,
      ({ state }) => this.#apply(state.uid, { type: 'delivered' }),
      (worker, end) => this.#onEnd(worker, end),
    );
  }

  /**
   * Runs steps until `signal` is aborted or the pod workers are disposed of. After that, aborts the running steps, and
   * resolves when all steps have ended.
   * @throws PodWorkersError `AlreadyStarted`
   */
  async start(signal: AbortSignal): Promise<void> {
    if (this.#lifecycle !== 'new') throw new PodWorkersError('AlreadyStarted', 'the pod workers were already started');
    this.#lifecycle = 'started';
    for (const worker of this.#workers.values()) {
      if (worker.state.pending !== undefined) this.#schedule(worker);
    }
    const { promise, resolve } = this.#stopped;
    const onAbort = (): void => resolve();
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
    await promise;
    signal.removeEventListener('abort', onAbort);
    await this[Symbol.asyncDispose]();
  }

  /**
   * Aborts the running steps and waits until they have ended. No step starts afterwards. Callers that wait for a kill
   * are rejected with `Stopped`.
   */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#lifecycle = 'stopped';
    this.#stopped.resolve();
    const reason = new DOMException('the pod workers are stopping', 'AbortError');
    for (const worker of this.#workers.values()) {
      worker.setTimer(undefined);
      worker.abort?.abort(reason);
    }
    for (const fail of [...this.#waiting]) fail(stoppedError());
    await this.#runner.ended();
  }

  /** Number of pods that have a worker. */
  get podCount(): number {
    return this.#workers.size;
  }

  /**
   * Passes an update to the pod's worker without waiting for its effect. Only the newest update is handled, but no kill
   * is lost (P2).
   */
  updatePod(options: UpdatePodOptions): void {
    const { uid } = identityOf(options);
    const known = this.#workers.get(uid);
    const event: PodWorkerEvent = {
      type: 'update',
      options,
      nothingRunning: known === undefined && nothingRuns(uid, this.#components.podCache),
      nowMs: this.#components.clock.now(),
    };
    this.#apply(uid, event);
    const worker = this.#workers.get(uid);
    if (worker === undefined) return;
    if (known === undefined && options.pod === undefined) this.#metrics.orphanedRuntimePods.inc({});
    const { phase } = worker.state;
    // Recorded after the phase changes that the update caused, so that the history is in order.
    worker.history.add({ atMs: this.#components.clock.now(), what: 'update', updateType: options.updateType, phase });
  }

  /**
   * Syncs a pod immediately, because one of its containers died or became ready (P7). Does nothing if the pod has no
   * worker.
   */
  wake(uid: string): void {
    this.#apply(uid, { type: 'wake' });
  }

  /**
   * Kills a pod and waits until none of its containers runs. The wait lasts for one and a half grace periods, and at
   * least 10 s. The grace period is `gracePeriodSecondsOverride`; if absent, the pod's `terminationGracePeriodSeconds`;
   * if both are absent, 0. If called before `start`, the time until `start` counts towards the wait.
   * @throws PodWorkersError `KillTimeout` if the pod did not stop in time; the kill continues
   * @throws PodWorkersError `Stopped` if the pod workers stop
   * @throws RangeError if the grace period is not a finite number
   * @throws the signal's reason if `signal` is aborted
   */
  killPodNow(pod: Pod, options: Omit<KillPodOptions, 'completed'> = {}, signal?: AbortSignal): Promise<void> {
    if (this.#lifecycle === 'stopped') return Promise.reject(stoppedError());
    const { clock, recorder } = this.#components;
    const context = { updatePod: (update: UpdatePodOptions) => this.updatePod(update), clock, recorder };
    return killPodNow({ ...context, waiting: this.#waiting }, pod, options, signal);
  }

  /**
   * Compares the pod workers with the complete configuration, for housekeeping. Pods that have left the configuration
   * are terminated; finished ones are forgotten. The caller must then create the desired pods that are absent from the
   * result. Call this only when all pod sources have reported: from the first call on, a pod without a worker counts as
   * gone (P5).
   */
  syncKnownPods(desiredPods: readonly Pod[]): ReadonlyMap<string, PodWorkerSync> {
    this.#podsSynced = true;
    this.#terminatedEarly.clear();
    const desired = new Set(desiredPods.map((pod) => pod.metadata.uid));
    const known = new Map<string, PodWorkerSync>();
    for (const { state: before } of [...this.#workers.values()]) {
      const { uid } = before;
      const isDesired = desired.has(uid);
      const state = this.#compare(before, isDesired);
      if (state !== undefined) known.set(uid, workerSync(state, isDesired));
    }
    for (const { count, ...labels } of countWorkingPods(known.values())) this.#metrics.working.set(labels, count);
    return known;
  }

  /**
   * Forgets the finished pods among `wantedPods`, so that the caller can create them again (P3). Does for some pods
   * what {@link syncKnownPods} does for all pods; used while not all pod sources have reported.
   * @returns the UIDs of the forgotten pods
   */
  forgetReused(wantedPods: readonly Pod[]): readonly string[] {
    return wantedPods.flatMap(({ metadata: { uid } }) => {
      const state = this.#state(uid);
      if (state?.phase !== 'finished') return [];
      return this.#compare(state, true) === undefined ? [uid] : [];
    });
  }

  /**
   * Compares one pod with the configuration.
   * @returns the pod's record afterwards; `undefined` if the pod was forgotten
   */
  #compare(before: Worker['state'], desired: boolean): Worker['state'] | undefined {
    if (isUnchanged(before, desired)) return before;
    const { uid, static: isStatic } = before;
    this.#apply(uid, { type: 'housekeeping', desired });
    const state = this.#state(uid);
    if (state === undefined && desired) this.#metrics.restartedPods.inc({ static: isStatic ? 'true' : '' });
    return state;
  }

  /**
   * Returns whether the terminating step has succeeded. Returns false for pods without a worker, including
   * force-deleted pods whose worker has finished; so use this only to filter desired pods, as admission does.
   */
  isPodKnownTerminated(uid: string): boolean {
    return predicates.isPodKnownTerminated(this.#state(uid));
  }

  /**
   * Returns whether containers of the pod may run now or may be started. Until the first {@link syncKnownPods}, returns
   * true for unknown pods, except for those that only the runtime knew and that have terminated.
   */
  couldHaveRunningContainers(uid: string): boolean {
    if (this.#terminatedEarly.has(uid)) return false;
    return predicates.couldHaveRunningContainers(this.#state(uid), this.#podsSynced);
  }

  /**
   * Returns whether the terminated step has succeeded. Returns true for unknown pods after the first {@link
   * syncKnownPods}.
   */
  shouldPodBeFinished(uid: string): boolean {
    return predicates.shouldPodBeFinished(this.#state(uid), this.#podsSynced);
  }

  /**
   * Returns whether the pod was requested to terminate. Containers may still be starting until the terminating step
   * begins. Use this in sync steps, not in clean-up: it returns false for pods that have already been removed.
   */
  isPodTerminationRequested(uid: string): boolean {
    return predicates.isPodTerminationRequested(this.#state(uid));
  }

  /**
   * Returns whether the pod worker no longer starts containers of the pod, so that managers must stop background set-up
   * for it. While this returns false, `syncPod` may run and start containers, even if termination was already
   * requested. Returns true for unknown pods after the first {@link syncKnownPods}.
   */
  shouldPodContainersBeTerminating(uid: string): boolean {
    return predicates.shouldPodContainersBeTerminating(this.#state(uid), this.#podsSynced);
  }

  /**
   * Returns whether resources that only running containers need, such as mounted volumes, can be removed. Returns true
   * if all containers have stopped. After the first {@link syncKnownPods}, also returns true if the pod is unknown and
   * cannot run.
   */
  shouldPodRuntimeBeRemoved(uid: string): boolean {
    return predicates.shouldPodRuntimeBeRemoved(this.#state(uid), this.#podsSynced);
  }

  /**
   * Returns whether all content of the pod can be removed: the pod was evicted, or it was deleted and its containers
   * have stopped. Returns true for unknown pods after the first {@link syncKnownPods}.
   */
  shouldPodContentBeRemoved(uid: string): boolean {
    return predicates.shouldPodContentBeRemoved(this.#state(uid), this.#podsSynced);
  }

  /**
   * Returns whether the mirror pod of this full name (`name_namespace`) must not be changed now (F3). Returns true if a
   * static pod of this name terminates, or if a pod other than `next` has the name or still runs from before a kubelet
   * restart.
   * @param next UID of the static pod that the mirror pod will represent; absent if the mirror pod will be deleted
   */
  isPodForMirrorPodTerminatingByFullName(fullName: string, next?: string): boolean {
    if (next !== undefined && this.#state(next)?.phase === 'terminating') return true;
    const holder = this.#turns.holder(fullName);
    if (holder !== undefined) return holder !== next;
    const [name = '', namespace = ''] = fullName.split('_');
    const running = this.#components.podCache.runningPods(name, namespace);
    return isFullNameBlocked(next, running, (uid) => this.#state(uid));
  }

  /**
   * Explains what the pod's worker does or waits for, since when, and what happened before. Returns `undefined` for
   * unknown pods.
   */
  explain(uid: string): PodWorkerExplanation | undefined {
    const worker = this.#workers.get(uid);
    if (worker === undefined) return undefined;
    const { fullName, name, namespace } = worker.state;
    const running = this.#components.podCache.runningPods(name, namespace);
    return worker.explain(this.#turns.holder(fullName) ?? fullNameBlocker(uid, running, (other) => this.#state(other)));
  }

  #state(uid: string): Worker['state'] | undefined {
    return this.#workers.get(uid)?.state;
  }

  /** Replaces the pod's record by its successor and performs the resulting effects. */
  #apply(uid: string, event: PodWorkerEvent): void {
    const before = this.#workers.get(uid);
    const previous = before?.state;
    const { state, effects } = nextPodWorkerState(previous, event);
    if (state === undefined) {
      before?.setTimer(undefined);
      this.#workers.delete(uid);
      if (before !== undefined && event.type === 'ended' && !this.#podsSynced) this.#terminatedEarly.add(uid);
    } else if (before === undefined) {
      this.#workers.set(uid, new Worker(state));
      this.#terminatedEarly.delete(uid);
    } else {
      before.state = state;
    }
    const worker = this.#workers.get(uid);
    if (worker !== undefined && previous?.phase !== worker.state.phase) this.#onPhase(worker);
    const claimed = claimsFullName(previous);
    const claims = claimsFullName(state);
    if (state !== undefined && claims && !claimed) this.#turns.join(state.fullName, uid);
    if (previous !== undefined && claimed && !claims) {
      const next = this.#workers.get(this.#turns.leave(previous.fullName, uid) ?? '');
      if (next !== undefined) this.#schedule(next);
    }
    // Effects run last, because a callback may send the next update.
    for (const effect of effects) this.#perform(worker ?? before, effect);
  }

  #onPhase(worker: Worker): void {
    const { phase, uid, name, namespace } = worker.state;
    const nowMs = this.#components.clock.now();
    this.#components.logger.debug({ podUid: uid, pod: `${namespace}/${name}`, phase }, 'Pod changed phase');
    worker.history.add({ atMs: nowMs, what: 'phase', phase });
    if (phase === 'finished') {
      worker.setTimer(undefined);
      worker.activity = { kind: 'finished', sinceMs: nowMs };
    }
  }

  #perform(worker: Worker | undefined, effect: PodWorkerEffect): void {
    const { clock, logger } = this.#components;
    if (effect.kind === 'complete') {
      for (const completed of effect.completions) this.#complete(completed);
    } else if (effect.kind === 'ignored') {
      logger.debug({ podUid: worker?.state.uid, reason: effect.reason }, 'Ignored pod update');
    } else if (worker !== undefined) {
      if (effect.kind === 'cancel') this.#cancel(worker);
      else if (effect.kind === 'begin') this.#schedule(worker);
      else if (effect.kind === 'run') {
        if (effect.update.patient) worker.lastUpdateMs = clock.monotonic();
        this.#runner.run(worker, effect);
      } else if (effect.kind === 'wait' && worker.activity.kind !== 'waitingForFullName') {
        worker.activity = { kind: 'waitingForFullName', sinceMs: clock.now(), holderUid: undefined };
      }
      // `requeue` is handled in #onEnd, because it needs the step's error.
    }
  }

  #complete(completed: () => void): void {
    try {
      completed();
    } catch (err) {
      this.#components.logger.error({ err }, 'Kill callback threw an error');
    }
  }

  #cancel(worker: Worker): void {
    const { activity } = worker;
    if (activity.kind === 'running' || activity.kind === 'waitingForStatus') {
      worker.activity = { ...activity, cancelled: true };
    }
    worker.abort?.abort(new DOMException('a more urgent update of the pod arrived', 'AbortError'));
  }

  /** Schedules a `begin` event for the pending update at the end of the current turn of the event loop. */
  #schedule(worker: Worker): void {
    if (this.#lifecycle !== 'started' || worker.scheduled || worker.state.running !== undefined) return;
    worker.setTimer(undefined);
    const { clock } = this.#components;
    const delayMs = updateDelayMs(worker.state, worker.lastUpdateMs, clock.monotonic(), this.#options.updateSpacingMs);
    if (delayMs > 0) {
      const sinceMs = clock.now();
      worker.activity = { kind: 'coalescing', sinceMs, untilMs: sinceMs + delayMs };
      worker.setTimer(clock.setTimer(delayMs, () => this.#schedule(worker)));
      return;
    }
    worker.scheduled = true;
    void Promise.resolve().then(() => {
      worker.scheduled = false;
      const { state } = worker;
      if (this.#lifecycle !== 'started' || this.#workers.get(state.uid) !== worker) return;
      const { clock, podCache } = this.#components;
      const { uid, name, namespace } = state;
      // A pod that terminates without having started needs no full name.
      const terminatesUnstarted = state.static && state.phase !== 'syncing' && state.startedAtMs === undefined;
      const running = terminatesUnstarted ? podCache.runningPods(name, namespace) : [];
      if (running === undefined && !state.observedRuntime) {
        // The runtime's pods are not known yet, so it is unknown whether anything of this pod must be stopped (C5).
        worker.setTimer(clock.setTimer(FULL_NAME_CHECK_MS, () => this.#schedule(worker)));
        return;
      }
      const turn = !state.static || terminatesUnstarted || this.#takeFullName(worker);
      this.#apply(uid, { type: 'begin', turn, runs: running?.includes(uid) ?? false, nowMs: clock.now() });
    });
  }

  /**
   * Returns whether a static pod holds its full name now (P4). If a running pod blocks the name, checks again after
   * `FULL_NAME_CHECK_MS`.
   */
  #takeFullName(worker: Worker): boolean {
    const { fullName, uid, name, namespace } = worker.state;
    const { clock, podCache } = this.#components;
    const running = podCache.runningPods(name, namespace);
    const claim = fullNameClaim(worker.state, this.#turns.holder(fullName), running, (other) => this.#state(other));
    if (claim === 'held') return true;
    if (claim === 'blocked') {
      worker.setTimer(clock.setTimer(FULL_NAME_CHECK_MS, () => this.#schedule(worker)));
      return false;
    }
    if (claim === 'first') this.#turns.advance(fullName, uid);
    return this.#turns.take(fullName, uid);
  }

  #onEnd(worker: Worker, { outcome, error, startMs }: StepEnd): void {
    const { uid } = worker.state;
    this.#apply(uid, { type: 'ended', outcome });
    if (this.#workers.get(uid) === worker && worker.state.pending === undefined) {
      this.#requeue(worker, outcome === 'failed' ? error : undefined, startMs);
    }
  }

  /** Schedules the next sync of a pod that has no pending update. */
  #requeue(worker: Worker, error: unknown, startMs: number): void {
    if (worker.state.phase === 'finished' || this.#lifecycle !== 'started') return;
    const { clock, random } = this.#components;
    const nowMs = clock.monotonic();
    // An elapsed `retryAtMs` causes at most one immediate retry in a row.
    const overMs = worker.retriesImmediately ? nowMs : startMs;
    const delayMs = retryDelayMs(error, { ...this.#options, nowMs, overMs, random });
    worker.retriesImmediately = error !== undefined && delayMs === 0;
    const sinceMs = clock.now();
    const untilMs = sinceMs + delayMs;
    worker.activity =
      error === undefined
        ? { kind: 'idle', sinceMs, untilMs }
        : { kind: 'backingOff', sinceMs, untilMs, error: errorText(error) };
    worker.setTimer(clock.setTimer(delayMs, () => this.#apply(worker.state.uid, { type: 'wake' })));
  }
}

/** State of each worker whose pod has finished and is still desired. One object for all, because there may be thousands. */
const FINISHED: PodWorkerSync = { state: 'terminated', orphan: false, hasConfig: true, static: false };

function workerSync({ phase, active, pending, static: isStatic }: Worker['state'], isDesired: boolean): PodWorkerSync {
  const hasConfig = (active ?? pending)?.pod !== undefined;
  if (phase === 'finished' && isDesired && hasConfig && !isStatic) return FINISHED;
  const state = phase === 'syncing' ? 'sync' : phase === 'terminating' ? 'terminating' : 'terminated';
  return { state, orphan: !isDesired, hasConfig, static: hasConfig && isStatic };
}

function stoppedError(): PodWorkersError {
  return new PodWorkersError('Stopped', 'the pod workers were stopped; no more pods are killed');
}
