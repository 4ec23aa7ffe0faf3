import { checkComponents, checkOptions, StartOnce, untilAborted } from '@node-agent/async';
import {
  type Container,
  defaultRestartFeatures,
  isRestartableInit,
  isStaticPod,
  type Pod,
  podReference,
} from '@node-agent/pod-spec';
import { type WithDefaults, withDefaults } from '@node-agent/telemetry';
import { ProbeAttempt } from './attempt.ts';
import type { ProberComponents, ProberOptions } from './components.ts';
import { findingOf } from './findings.ts';
import type { ProbeExplanation } from './history.ts';
import { ProberMetrics } from './metrics.ts';
import { earlyRetryMs, nextDue } from './next-due.ts';
import { probeTimesProblems } from './probe-times.ts';
import { ProbeResults } from './results.ts';
import { slotMs, slotOf } from './slots.ts';
import { Timetable } from './timetable.ts';
import { PROBE_KINDS, type ProbeOutcome, type ProbeUpdate, probeOf } from './types.ts';
import { Worker } from './worker.ts';
import { afterProbe, beforeProbe, type Decision, runningSinceMs } from './worker-rule.ts';

/**
 * A container that started up to this long before the prober counts as started after it, because clocks are not exact,
 * in ms (`kubeletRestartGracePeriod`).
 */
const RESTART_GRACE_MS = 10_000;

/**
 * Probes the containers of pods, each on the grid of its own period, with one timer for all probes. Current results are
 * in {@link results}, by container ID; {@link updates} delivers changed results. Upstream: `pkg/kubelet/prober`.
 */
export class Prober {
  readonly results: ProbeResults = new ProbeResults();
  readonly #components: WithDefaults<ProberComponents>;
  readonly #options: Required<ProberOptions>;
  readonly #attempt: ProbeAttempt;
  readonly #metrics: ProberMetrics;
  readonly #timetable: Timetable<Worker>;
  /** Probes by pod UID, then by container and kind. */
  readonly #pods = new Map<string, Map<string, Worker>>();
  /** UIDs of the pods that are terminating. */
  readonly #ending = new Set<string>();
  #started: { readonly wallMs: number; readonly monotonicMs: number } | undefined;
  #perSecond = 0;
  readonly #startup = (containerId: string) => this.results.startup(containerId);
  readonly #startOnce = new StartOnce('Prober');

  /** @throws OptionsError naming the invalid component or option */
  constructor(given: ProberComponents, options: ProberOptions = {}) {
    const asked = checkOptions('Prober', options, {
      restartFeatures: 'object?',
      historyLength: 'count?',
      earlyTries: 'boolean?',
    });
    checkComponents('Prober', given, { statuses: ['getPodStatus'], ports: [] });
    const components = withDefaults(given);
    this.#components = components;
    this.#options = { restartFeatures: defaultRestartFeatures, historyLength: 10, earlyTries: true, ...asked };
    this.#attempt = new ProbeAttempt(components.clock, components.ports);
    this.#metrics = new ProberMetrics(components.metrics);
    this.#timetable = new Timetable(components.clock, (worker) => this.#round(worker));
  }

  /** Changed results, for one consumer; ends when the prober stops. */
  get updates(): AsyncIterable<ProbeUpdate> {
    return this.results.updates;
  }

  /** Number of probes. */
  get size(): number {
    return [...this.#pods.values()].reduce((sum, workers) => sum + workers.size, 0);
  }

  /**
   * Runs probes until `signal` is aborted; then no attempt is in progress any more. Pods may be added before the call.
   * `start` must be called only once.
   */
  async start(signal: AbortSignal): Promise<void> {
    this.#startOnce.begin();
    const { clock } = this.#components;
    this.#started = { wallMs: clock.now(), monotonicMs: clock.monotonic() };
    for (const workers of this.#pods.values()) for (const worker of workers.values()) this.#begin(worker);
    await untilAborted(signal);
    this.#timetable.clear();
    for (const workers of this.#pods.values()) for (const worker of workers.values()) endProbe(worker);
    this.#started = undefined;
    this.results.close();
  }

  /**
   * Starts probing the main containers and sidecars of a pod. Does nothing for probes that already exist. A probe that
   * ended with its container is started again if the container runs again, which happens when all containers of the pod
   * are restarted (KEP-5532).
   */
  addPod(pod: Pod): void {
    const { uid } = pod.metadata;
    const containers = probedContainers(pod);
    if (containers.length === 0 || this.#ending.has(uid)) return;
    const known = this.#pods.get(uid);
    const workers = known ?? new Map<string, Worker>();
    if (known === undefined) {
      this.#pods.set(uid, workers);
      for (const problem of probeTimesProblems(pod)) {
        this.#components.recorder.event(podReference(pod), 'Warning', 'InvalidProbeTimes', problem);
      }
    }
    for (const container of containers) {
      for (const kind of PROBE_KINDS) {
        if (probeOf(container, kind) == null || workers.has(workerKey(container, kind))) continue;
        if (known === undefined || this.#runs(uid, container)) this.#add(pod, container, kind, workers);
      }
    }
  }

  #add(pod: Pod, container: Container, kind: Worker['kind'], workers: Map<string, Worker>): void {
    const worker = new Worker(pod, container, kind, this.#options.historyLength, (labels) =>
      this.#metrics.series(labels),
    );
    this.#perSecond += 1000 / worker.times.periodMs;
    worker.gridMs = this.#slot(worker, this.#firstMs(worker));
    workers.set(workerKey(container, kind), worker);
    if (this.#started !== undefined) this.#begin(worker);
  }

  #runs(uid: string, { name }: Container): boolean {
    return runningSinceMs(this.#components.statuses.getPodStatus(uid), name) !== undefined;
  }

  /**
   * Stops the liveness and startup probes of a terminating pod, including those of sidecars, because its containers are
   * not restarted any more. Upstream 1.36 still probes sidecars (kubernetes/kubernetes#141766). Readiness is probed
   * until {@link removePod}.
   */
  stopLivenessAndStartup(uid: string): void {
    if (this.#pods.has(uid)) this.#ending.add(uid);
    for (const worker of this.#workersOf(uid)) if (worker.kind !== 'readiness') this.#remove(worker);
  }

  /** Stops all probes of a pod and forgets their results. */
  removePod(uid: string): void {
    for (const worker of this.#workersOf(uid)) this.#remove(worker);
    this.#pods.delete(uid);
    this.#ending.delete(uid);
  }

  /** Stops the probes of all pods except these. */
  cleanupPods(desired: { has(uid: string): boolean }): void {
    for (const uid of [...this.#pods.keys()]) if (!desired.has(uid)) this.removePod(uid);
  }

  /**
   * Probes a container immediately if it may have become ready or started. Must be called whenever a pod's status was
   * generated (`UpdatePodStatus`).
   */
  statusChanged(uid: string): void {
    if (this.#started === undefined) return;
    for (const worker of this.#workersOf(uid)) {
      if (worker.kind === 'liveness') continue;
      const { next, state } = this.#decide(worker);
      if (next.kind !== 'probe') continue;
      const first = state.containerId !== worker.state.containerId || !worker.probed;
      const notReady = worker.kind === 'readiness' && this.results.readiness(state.containerId) !== 'success';
      if (!first && !notReady) continue;
      // Containers from before the prober started wait for their turn, so that a restart does not probe all of them at
      // once. Exception: containers of a static pod whose earlier state is not known are probed immediately.
      const waitsForSlot = first && !worker.probed && worker.gridMs > this.#nowMs() && !this.#isNew(worker);
      const hasNoKnownState = isStaticPod(worker.pod) && this.results[worker.kind](state.containerId) !== undefined;
      if (waitsForSlot && !hasNoKnownState) continue;
      if (worker.attempt !== undefined) worker.again = true;
      else this.#scheduleAt(worker, this.#nowMs(), { resetGrid: true });
    }
  }

  /** Explains the probes of a pod: current results, waits, and the latest attempts. */
  explain(uid: string): readonly ProbeExplanation[] {
    const nowMs = this.#nowMs();
    return this.#workersOf(uid).map((worker) => {
      const dueMs = this.#timetable.dueMs(worker);
      return worker.explain(this.results[worker.kind](worker.state.containerId), dueMs && Math.max(0, dueMs - nowMs));
    });
  }

  /**
   * Returns the time of the first attempt, with upstream's jitter: during the first period after the prober started,
   * first attempts are spread over one period.
   */
  #firstMs({ times: { periodMs } }: Worker): number {
    const nowMs = this.#nowMs();
    const runsForMs = nowMs - (this.#started?.monotonicMs ?? nowMs);
    return periodMs > runsForMs ? nowMs + this.#components.random.next() * periodMs : nowMs;
  }

  /**
   * Schedules the first round. The state of a static pod before a restart is only in its mirror pod, which may not be
   * known yet. A container of a static pod is probed immediately if the prober does not know whether the container has
   * started or is ready. Otherwise the API would show a ready container as not ready (S6).
   */
  #begin(worker: Worker): void {
    const nowMs = this.#nowMs();
    const isImmediate = isStaticPod(worker.pod) && isUnknown(worker.kind, this.#decide(worker));
    this.#scheduleAt(worker, isImmediate ? nowMs : Math.max(worker.gridMs, nowMs));
  }

  #scheduleAt(worker: Worker, dueMs: number, { resetGrid = false, early = false } = {}): void {
    if (resetGrid) worker.gridMs = this.#slot(worker, dueMs);
    worker.early = early;
    this.#timetable.set(worker, dueMs);
  }

  #slot({ times: { periodMs } }: Worker, atMs: number): number {
    return slotOf(atMs, slotMs(periodMs, this.#perSecond));
  }

  #decide(worker: Worker, nowMs = this.#nowMs()): Decision {
    const { clock, statuses } = this.#components;
    return beforeProbe(worker.state, {
      kind: worker.kind,
      pod: worker.pod,
      container: worker.container,
      times: worker.times,
      status: statuses.getPodStatus(worker.podUid),
      startup: this.#startup,
      needsAddress: worker.needsAddress,
      nowMs: clock.now(),
      knownForMs: nowMs - worker.seenMs,
      features: this.#options.restartFeatures,
    });
  }

  /** Runs a probe that is due, or makes it wait. */
  #round(worker: Worker): void {
    if (worker.removed) return;
    const nowMs = this.#nowMs();
    const { state, next, forget, set } = this.#decide(worker, nowMs);
    if (forget !== undefined) this.results.remove(worker.kind, forget);
    if (state.containerId !== worker.state.containerId) {
      worker.seenMs = nowMs;
      worker.probed = false;
      worker.succeeded = false;
      worker.early = false;
    }
    worker.state = state;
    if (set !== undefined) this.#set(worker, set);
    if (next.kind === 'end') {
      this.#remove(worker);
      return;
    }
    worker.waitsFor = next.kind === 'wait' ? next.why : undefined;
    if (next.kind === 'probe') {
      this.#probe(worker, nowMs);
      return;
    }
    const { dueMs, gridMs } = nextDue({ gridMs: worker.gridMs, periodMs: worker.times.periodMs }, nowMs);
    const soonerMs = next.atMs === undefined ? dueMs : nowMs + Math.max(1, next.atMs - this.#components.clock.now());
    if (soonerMs < dueMs) this.#scheduleAt(worker, soonerMs, { resetGrid: true });
    else {
      worker.gridMs = gridMs;
      this.#scheduleAt(worker, dueMs);
    }
  }

  #probe(worker: Worker, startedMs: number): void {
    const { clock, statuses } = this.#components;
    const { early, timeoutMs } = this.#attemptLimits(worker, startedMs);
    const { probe, container, state } = worker;
    const podIp = statuses.getPodStatus(worker.podUid)?.podIP ?? '';
    const target = { probe, container, containerId: state.containerId, podIp, timeoutMs };
    const atMs = clock.now();
    worker.attempt = this.#attempt.begin(target, (outcome) =>
      this.#onAttemptEnd(worker, outcome, early, atMs, startedMs),
    );
  }

  #onAttemptEnd(worker: Worker, outcome: ProbeOutcome, early: boolean, atMs: number, startedMs: number): void {
    const nowMs = this.#nowMs();
    try {
      worker.history.add(atMs, nowMs - startedMs, outcome);
      this.#onOutcome(worker, outcome, early, nowMs - startedMs);
    } catch (err) {
      this.#components.logger.error({ err, ...worker.labels }, 'Probe failed');
    }
    worker.attempt = undefined;
    if (!worker.removed) this.#schedule(worker, nowMs);
  }

  /**
   * Returns whether an attempt is early (outside the grid), and its timeout. An early attempt ends when the next
   * attempt of the grid is due. The failure of an early attempt does not count: the cause may have ended before the
   * next regular attempt, and a container must get the full time that its thresholds grant.
   */
  #attemptLimits(worker: Worker, startedMs: number): { readonly early: boolean; readonly timeoutMs: number } {
    const { timeoutMs, periodMs } = worker.times;
    if (!worker.early) return { early: false, timeoutMs };
    const { dueMs, gridMs } = nextDue({ gridMs: worker.gridMs, periodMs }, startedMs);
    if (dueMs > startedMs) return { early: true, timeoutMs: Math.min(timeoutMs, dueMs - startedMs) };
    // The timer fired so late that this attempt is the next regular attempt of the grid.
    worker.gridMs = gridMs;
    return { early: false, timeoutMs };
  }

  #onOutcome(worker: Worker, outcome: ProbeOutcome, early: boolean, durationMs: number): void {
    const { kind, series, reference, times } = worker;
    const { counted, event } = findingOf(kind, outcome);
    worker.probed = true;
    // Only the success of an early attempt counts. If an early attempt has no success, the next regular attempt
    // decides.
    if (early && counted !== 'success') return;
    if (event !== undefined) this.#components.recorder.event(reference, 'Warning', event.reason, event.message);
    if (counted === undefined) return;
    this.#metrics.probed(series, counted, durationMs);
    const { state, set } = afterProbe(worker.state, counted, kind, times);
    worker.state = state;
    worker.succeeded ||= set === 'success';
    if (set !== undefined) this.#set(worker, set);
  }

  #schedule(worker: Worker, nowMs: number): void {
    const { periodMs, initialDelayMs } = worker.times;
    if (worker.again) {
      worker.again = false;
      this.#scheduleAt(worker, nowMs, { resetGrid: true });
      return;
    }
    const { dueMs, gridMs } = nextDue({ gridMs: worker.gridMs, periodMs }, nowMs);
    const { kind, probe, succeeded } = worker;
    const mayRetryEarly = this.#options.earlyTries && kind !== 'liveness' && probe.exec == null && !succeeded;
    const failed = !worker.state.onHold && this.results[worker.kind](worker.state.containerId) !== 'success';
    if (mayRetryEarly && failed && worker.state.last !== 'success' && initialDelayMs === 0 && this.#isNew(worker)) {
      const delayMs = earlyRetryMs(nowMs - worker.seenMs, periodMs);
      if (delayMs !== undefined && nowMs + delayMs < dueMs) {
        this.#scheduleAt(worker, nowMs + delayMs, { early: true });
        return;
      }
    }
    worker.gridMs = gridMs;
    this.#scheduleAt(worker, dueMs);
  }

  /**
   * Returns whether the container started after this prober, so it is not a container from before a restart. A start
   * time in the future shows only that the clock has been set back since the start of the container.
   */
  #isNew({ podUid, container: { name } }: Worker): boolean {
    const sinceMs = runningSinceMs(this.#components.statuses.getPodStatus(podUid), name);
    if (sinceMs === undefined || sinceMs > this.#components.clock.now()) return false;
    return sinceMs >= (this.#started?.wallMs ?? 0) - RESTART_GRACE_MS;
  }

  #set({ podUid, kind, state: { containerId } }: Worker, result: ProbeUpdate['result']): void {
    this.results.set({ podUid, containerId, kind, result });
    // Probes that waited for the startup probe run immediately.
    if (kind === 'startup' && result === 'success') this.statusChanged(podUid);
  }

  #remove(worker: Worker): void {
    if (worker.removed) return;
    worker.removed = true;
    this.#perSecond -= 1000 / worker.times.periodMs;
    this.#timetable.delete(worker);
    endProbe(worker);
    if (worker.state.containerId !== '') this.results.remove(worker.kind, worker.state.containerId);
    this.#metrics.ended(worker.series);
    this.#pods.get(worker.podUid)?.delete(workerKey(worker.container, worker.kind));
  }

  #workersOf(uid: string): readonly Worker[] {
    return [...(this.#pods.get(uid)?.values() ?? [])];
  }

  #nowMs(): number {
    return this.#components.clock.monotonic();
  }
}

/** Returns whether a container runs but its startup or readiness is unknown. */
function isUnknown(kind: Worker['kind'], { next, set }: Decision): boolean {
  return kind === 'startup' ? next.kind === 'probe' : kind === 'readiness' && set === 'failure';
}

function endProbe(worker: Worker): void {
  worker.attempt?.callOff();
  worker.attempt = undefined;
}

function workerKey({ name }: Container, kind: Worker['kind']): string {
  return `${name} ${kind}`;
}

/** Returns the main containers and sidecars that have a probe. */
function probedContainers({ spec }: Pod): readonly Container[] {
  const sidecars = (spec.initContainers ?? []).filter(isRestartableInit);
  return [...spec.containers, ...sidecars].filter((container) =>
    PROBE_KINDS.some((kind) => probeOf(container, kind) != null),
  );
}
