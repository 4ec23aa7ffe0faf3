import { checkComponents, checkOptions } from '@node-agent/async';
import type { Pod } from '@node-agent/pod-spec';
import { errorText, type WithDefaults, withDefaults } from '@node-agent/telemetry';
import type { PodWorkersComponents, PodWorkersOptions } from './components.ts';
import { PodWorkersError } from './errors.ts';
import type { PodWorkerExplanation } from './explanation.ts';
import { blockerOf, fullNameClaim, isKeptFrom } from './full-name-claim.ts';
import { FullNameTurns } from './full-name-turns.ts';
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

/** How often it is looked whether a pod of the same name, known to the runtime alone, still runs. */
const FULL_NAME_CHECK_MS = 500;

/**
 * One state machine per pod UID (P1): what pods this node runs, and who may run when. The rule is {@link nextPodWorkerState}; this class
 * runs its effects: one step of a pod at a time (P2), retries, turns. Source: `pkg/kubelet/pod_workers.go`.
 */
export class PodWorkers implements AsyncDisposable {
  readonly #components: WithDefaults<PodWorkersComponents>;
  readonly #options: Required<PodWorkersOptions>;
  readonly #metrics: PodWorkersMetrics;
  readonly #workers = new Map<string, Worker>();
  readonly #turns = new FullNameTurns();
  readonly #runner: StepRunner;
  /** Ends the wait of {@link start}. */
  readonly #stopped = Promise.withResolvers<void>();
  /** Who waits for a kill. */
  readonly #waiting = new Set<(reason: unknown) => void>();
  #podsSynced = false;
  #lifecycle: 'new' | 'started' | 'stopped' = 'new';

  /** @throws OptionsError naming the component or option that is wrong */
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
      ({ state }) => this.#apply(state.uid, { type: 'given' }),
      (worker, end) => this.#onEnd(worker, end),
    );
  }

  /**
   * Lets steps run until `signal` is aborted or it is disposed of, then aborts them and resolves when all have ended.
   * @throws PodWorkersError `AlreadyStarted`
   */
  async start(signal: AbortSignal): Promise<void> {
    if (this.#lifecycle !== 'new') throw new PodWorkersError('AlreadyStarted', 'the pod workers were started before');
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

  /** Aborts the steps that run and waits for their end; none starts afterwards. Who waits for a kill is told that there is none. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#lifecycle = 'stopped';
    this.#stopped.resolve();
    for (const worker of this.#workers.values()) {
      worker.setTimer(undefined);
      worker.abort?.abort(new DOMException('the pod workers are being stopped', 'AbortError'));
    }
    for (const fail of [...this.#waiting]) fail(stoppedError());
    await this.#runner.ended();
  }

  /** How many pods have a worker. */
  get podCount(): number {
    return this.#workers.size;
  }

  /** Tells a pod's worker what is new; never waits. Only the newest update is acted upon, but no kill is lost (P2). */
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
    // After what it has led to, and told so: the history is in order.
    worker.history.add({ atMs: this.#components.clock.now(), what: 'update', updateType: options.updateType, phase });
  }

  /** Looks at a pod at once: one of its containers died or became ready (P7). Nothing happens where no worker knows it. */
  wake(uid: string): void {
    this.#apply(uid, { type: 'wake' });
  }

  /**
   * Kills a pod and waits until none of its containers runs: for one and a half times `gracePeriodSecondsOverride`, where absent the pod's
   * own `terminationGracePeriodSeconds`, where that is absent, too, 0; for 10 s at least. Asked before `start`, it waits for that within the same time.
   * @throws PodWorkersError `KillTimeout`, the kill goes on; `Stopped`; RangeError where the grace period is no finite number; the signal's reason
   */
  killPodNow(pod: Pod, options: Omit<KillPodOptions, 'completed'> = {}, signal?: AbortSignal): Promise<void> {
    if (this.#lifecycle === 'stopped') return Promise.reject(stoppedError());
    const { clock, recorder } = this.#components;
    const context = { updatePod: (update: UpdatePodOptions) => this.updatePod(update), clock, recorder };
    return killPodNow({ ...context, waiting: this.#waiting }, pod, options, signal);
  }

  /**
   * Housekeeping's comparison with the whole configuration. Pods that have left it are driven to their end, finished ones forgotten; the
   * caller then creates those desired pods that are not in the answer. Call it only when all sources have reported: from the first call
   * on, an unknown pod counts as gone (P5).
   */
  syncKnownPods(desiredPods: readonly Pod[]): ReadonlyMap<string, PodWorkerSync> {
    this.#podsSynced = true;
    const desired = new Set(desiredPods.map((pod) => pod.metadata.uid));
    const known = new Map<string, PodWorkerSync>();
    for (const { state: before } of [...this.#workers.values()]) {
      const { uid } = before;
      const state = this.#compare(before, desired.has(uid));
      if (state === undefined) continue;
      const hasConfig = (state.active ?? state.pending)?.pod !== undefined;
      known.set(uid, {
        state: state.phase === 'syncing' ? 'sync' : state.phase === 'terminating' ? 'terminating' : 'terminated',
        orphan: !desired.has(uid),
        hasConfig,
        static: hasConfig && state.static,
      });
    }
    for (const { count, ...labels } of countWorkingPods(known.values())) this.#metrics.working.set(labels, count);
    return known;
  }

  /**
   * Forgets those of these pods that are finished and are wanted again: the caller then creates them anew (P3). What {@link syncKnownPods}
   * does for all pods this does for some, while others cannot be spoken of yet.
   * @returns their UIDs
   */
  forgetReused(wantedPods: readonly Pod[]): readonly string[] {
    return wantedPods.flatMap(({ metadata: { uid } }) => {
      const state = this.#state(uid);
      if (state?.phase !== 'finished') return [];
      return this.#compare(state, true) === undefined ? [uid] : [];
    });
  }

  /** Compares one with the configuration. @returns where it stands then; `undefined` where it is forgotten */
  #compare({ uid, static: isStatic }: Worker['state'], desired: boolean): Worker['state'] | undefined {
    this.#apply(uid, { type: 'housekeeping', desired });
    const state = this.#state(uid);
    if (state === undefined && desired) this.#metrics.restartedPods.inc({ static: isStatic ? 'true' : '' });
    return state;
  }

  /** The terminating step has succeeded: for filters of the desired pods, as admission. False for unknown pods. */
  isPodKnownTerminated(uid: string): boolean {
    return predicates.isPodKnownTerminated(this.#state(uid));
  }

  /** A container of it may run now, or be started. */
  couldHaveRunningContainers(uid: string): boolean {
    return predicates.couldHaveRunningContainers(this.#state(uid), this.#podsSynced);
  }

  /** The terminated step has succeeded, or the pod is known not to be there. */
  shouldPodBeFinished(uid: string): boolean {
    return predicates.shouldPodBeFinished(this.#state(uid), this.#podsSynced);
  }

  /** The pod is to terminate. For steps, not for clean-up: it is false for pods that are gone. */
  isPodTerminationRequested(uid: string): boolean {
    return predicates.isPodTerminationRequested(this.#state(uid));
  }

  /** No container of the pod is started any more: background set-up for it must end. */
  shouldPodContainersBeTerminating(uid: string): boolean {
    return predicates.shouldPodContainersBeTerminating(this.#state(uid), this.#podsSynced);
  }

  /** What only running containers need (mounted volumes, ...) may go. */
  shouldPodRuntimeBeRemoved(uid: string): boolean {
    return predicates.shouldPodRuntimeBeRemoved(this.#state(uid), this.#podsSynced);
  }

  /** All of the pod may go: evicted, or deleted and stopped. */
  shouldPodContentBeRemoved(uid: string): boolean {
    return predicates.shouldPodContentBeRemoved(this.#state(uid), this.#podsSynced);
  }

  /**
   * A static pod of this full name (`name_namespace`) terminates, or one that is not `next` has the name, or still runs from
   * before a restart: the mirror pod must stay as it is for now (F3).
   * @param next the UID of the static pod that the mirror pod is to show from now on; none where it is to go
   */
  isPodForMirrorPodTerminatingByFullName(fullName: string, next?: string): boolean {
    if (next !== undefined && this.#state(next)?.phase === 'terminating') return true;
    const holder = this.#turns.holder(fullName);
    if (holder !== undefined) return holder !== next;
    const [name = '', namespace = ''] = fullName.split('_');
    const running = this.#components.podCache.runningPods(name, namespace);
    return isKeptFrom(next, running, (uid) => this.#state(uid));
  }

  /** What a pod's worker does, waits for and since when, and what happened before; `undefined` for unknown pods. */
  explain(uid: string): PodWorkerExplanation | undefined {
    const worker = this.#workers.get(uid);
    if (worker === undefined) return undefined;
    const { fullName, name, namespace } = worker.state;
    const running = this.#components.podCache.runningPods(name, namespace);
    return worker.explain(this.#turns.holder(fullName) ?? blockerOf(uid, running, (other) => this.#state(other)));
  }

  #state(uid: string): Worker['state'] | undefined {
    return this.#workers.get(uid)?.state;
  }

  /** Moves a pod's record on, and does what its rule says. */
  #apply(uid: string, event: PodWorkerEvent): void {
    const before = this.#workers.get(uid);
    const previous = before?.state;
    const { state, effects } = nextPodWorkerState(previous, event);
    if (state === undefined) {
      before?.setTimer(undefined);
      this.#workers.delete(uid);
    } else if (before === undefined) {
      this.#workers.set(uid, new Worker(state));
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
    // Last, as a callback may bring the next update.
    for (const effect of effects) this.#perform(worker ?? before, effect);
  }

  #onPhase(worker: Worker): void {
    const { phase, uid, name, namespace } = worker.state;
    const nowMs = this.#components.clock.now();
    this.#components.logger.debug({ podUid: uid, pod: `${namespace}/${name}`, phase }, 'Pod enters a phase');
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
      logger.debug({ podUid: worker?.state.uid, reason: effect.reason }, 'Pod update is ignored');
    } else if (worker !== undefined) {
      if (effect.kind === 'cancel') this.#cancel(worker);
      else if (effect.kind === 'begin') this.#schedule(worker);
      else if (effect.kind === 'run') this.#run(worker, effect);
      else if (effect.kind === 'wait' && worker.activity.kind !== 'waitingForFullName') {
        worker.activity = { kind: 'waitingForFullName', sinceMs: clock.now(), holderUid: undefined };
      }
      // `requeue` needs the step's error: see #onEnd.
    }
  }

  #complete(completed: () => void): void {
    try {
      completed();
    } catch (err) {
      this.#components.logger.error({ err }, 'The callback of a kill has thrown');
    }
  }

  #cancel(worker: Worker): void {
    const { activity } = worker;
    if (activity.kind === 'running' || activity.kind === 'waitingForStatus') {
      worker.activity = { ...activity, cancelled: true };
    }
    worker.abort?.abort(new DOMException('there is more urgent news of the pod', 'AbortError'));
  }

  /** Has the worker begin what is pending, once all that happens in this turn of the event loop has happened. */
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
      // What ends without having begun here claims no name.
      const endsUnbegun = state.static && state.phase !== 'syncing' && state.startedAtMs === undefined;
      const running = endsUnbegun ? podCache.runningPods(name, namespace) : [];
      if (running === undefined && !state.observedRuntime) {
        // Whether there is anything to end is not known yet (C5).
        worker.setTimer(clock.setTimer(FULL_NAME_CHECK_MS, () => this.#schedule(worker)));
        return;
      }
      const turn = !state.static || endsUnbegun || this.#takesFullName(worker);
      this.#apply(uid, { type: 'begin', turn, runs: running?.includes(uid) ?? false, nowMs: clock.now() });
    });
  }

  /** Whether a static pod has its full name now (P4); looks again soon where a pod that runs is in its way. */
  #takesFullName(worker: Worker): boolean {
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

  #run(worker: Worker, effect: Extract<PodWorkerEffect, { kind: 'run' }>): void {
    if (effect.update.patient) worker.lastUpdateMs = this.#components.clock.monotonic();
    this.#runner.run(worker, effect);
  }

  #onEnd(worker: Worker, { outcome, error, startMs }: StepEnd): void {
    const { uid } = worker.state;
    this.#apply(uid, { type: 'ended', outcome });
    if (this.#workers.get(uid) === worker && worker.state.pending === undefined) {
      this.#requeue(worker, outcome === 'failed' ? error : undefined, startMs);
    }
  }

  /** Sets the time of the next look, where nothing else brings one before. */
  #requeue(worker: Worker, error: unknown, startMs: number): void {
    if (worker.state.phase === 'finished' || this.#lifecycle !== 'started') return;
    const { clock, random } = this.#components;
    const nowMs = clock.monotonic();
    // At once, but not again and again.
    const overMs = worker.hurries ? nowMs : startMs;
    const delayMs = retryDelayMs(error, { ...this.#options, nowMs, overMs, random });
    worker.hurries = error !== undefined && delayMs === 0;
    const sinceMs = clock.now();
    const untilMs = sinceMs + delayMs;
    worker.activity =
      error === undefined
        ? { kind: 'idle', sinceMs, untilMs }
        : { kind: 'backingOff', sinceMs, untilMs, error: errorText(error) };
    worker.setTimer(clock.setTimer(delayMs, () => this.#apply(worker.state.uid, { type: 'wake' })));
  }
}

function stoppedError(): PodWorkersError {
  return new PodWorkersError('Stopped', 'the pod workers were stopped: nothing is killed any more');
}
