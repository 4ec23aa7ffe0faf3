import { checkComponents, checkOptions, linkAbort, StartOnce, sleep, untilNextMs } from '@node-agent/async';
import type { Pod } from '@node-agent/pod-spec';
import { type CommonPorts, errorText, type WithDefaults, withDefaults } from '@node-agent/telemetry';
import { admitUnderPressure, type PressureVerdict } from './admit.ts';
import { Aside, LANES, type Lane, laneOf } from './aside.ts';
import { bear, bearing } from './bearing.ts';
import { Decisions, type EvictionDecision, observationView } from './decisions.ts';
import { DiskInquiry } from './disk-inquiry.ts';
import { type DiskLayout, withContainerFs } from './disk-layout.ts';
import { Evictor } from './evictor.ts';
import type { EvictionExplanation, Pressure } from './explanation.ts';
import type { Gauge } from './headroom.ts';
import { HeadroomWatch } from './headroom-watch.ts';
import { hasStorageLimit } from './local-storage.ts';
import type { Observations } from './observations.ts';
import { checkValues, type EvictionOptions, withOptionDefaults } from './options.ts';
import type { EvictionDisks, EvictionDiskUsage, EvictionPods, EvictionReclaim, EvictionStats } from './ports.ts';
import {
  conditionsIn,
  isMetBy,
  NO_PRESSURE,
  nextPressure,
  type PressureState,
  seenMeanwhile,
  staleness,
} from './pressure.ts';
import { conditionOf, type PressureCondition } from './signals.ts';
import { type Figures, Statistics } from './statistics.ts';
import { endOverLimits, overStorageLimits } from './storage-limits.ts';
import { formatThreshold, type Threshold } from './threshold.ts';
import { ThresholdResponder } from './threshold-responder.ts';

/** Dependencies of {@link EvictionManager}. */
export interface EvictionComponents extends Partial<CommonPorts> {
  readonly pods: EvictionPods;
  readonly stats: EvictionStats;
  readonly disks: EvictionDisks;
  readonly reclaim: EvictionReclaim;
  /** Measures volumes and writable layers before pods are ranked. If absent, the stats' values are used as they are. */
  readonly diskUsage?: EvictionDiskUsage;
  /**
   * Gauges that are read between two rounds, to notice a crossed threshold early. A signal without a gauge is checked
   * only once per round.
   */
  readonly gauges?: readonly Gauge[];
  /** Called when {@link EvictionManager.pressure} has changed. */
  readonly onPressureChanged?: () => void;
}

const ONE_DISK: DiskLayout = { dedicatedImageFs: false, splitContainerFs: false };
/** Delay before stats are read again if the current stats cannot be acted on. */
const RETRY_MS = 1000;
/**
 * Maximum wait of a memory or PID shortage for pods that are evicted for exceeding their own storage limits. Such pods
 * have a grace period of one second, and their termination may resolve the shortage. If their termination takes longer,
 * the shortage is handled without waiting.
 */
const OVER_LIMITS_PATIENCE_MS = 2000;

/**
 * Evicts pods before the node runs out of memory, disk, inodes or PIDs (`pkg/kubelet/eviction/eviction_manager.go`).
 * The manager acts only on fresh stats, removes dead containers and unused images first, evicts one pod at a time, and
 * chooses the next pod after the evicted pod is gone (N2).
 * Metrics: `kubelet_evictions{eviction_signal}`, `kubelet_eviction_stats_age_seconds{eviction_signal}`.
 */
export class EvictionManager {
  readonly #components: WithDefaults<EvictionComponents & CommonPorts>;
  readonly #options: Required<EvictionOptions>;
  readonly #statistics: Statistics;
  readonly #evictor: Evictor;
  readonly #watch: HeadroomWatch;
  readonly #decisions = new Decisions();
  readonly #aside = new Aside((signal) => this.#nextLook(signal));
  readonly #responder: ThresholdResponder;
  readonly #inquiry: DiskInquiry;
  /** The disk layout as of the start of this round. */
  #layout: DiskLayout | undefined;
  /** Ends the wait for the next check of the node when the disk layout becomes known. */
  #disksKnown: (() => void) | undefined;
  #thresholds: readonly Threshold[];
  #state: PressureState = NO_PRESSURE;
  #observations: Observations = new Map();
  /**
   * Lanes in which work was in progress when this round began, or is in progress now. The stats may be older than the
   * end of that work.
   */
  #busy: ReadonlySet<Lane> = new Set();
  /** Whether a reaction may be needed but the stats were not fresh enough to act on. */
  #isWaitingForFigures = false;
  /** Maximum time until the next check of the node. */
  #patienceMs = Number.POSITIVE_INFINITY;
  /** Wall-clock time of the last action. Stats up to this time do not reflect the action. */
  #staleUntilMs = 0;
  /** Error of the last round; `undefined` if the round succeeded. */
  #failure: string | undefined;
  /** Reason why some of the last stats are ignored; `undefined` if none are. */
  #staleness: string | undefined;
  readonly #startOnce = new StartOnce('EvictionManager');

  /** @throws EvictionError `InvalidOptions`, naming the field, if an option is invalid */
  constructor(given: EvictionComponents, options: EvictionOptions) {
    checkOptions('EvictionManager', options, {
      nodeRef: 'object',
      thresholds: 'list',
      maxPodGracePeriodSeconds: 'number?',
      pressureTransitionMs: 'number?',
      localStorageCapacityIsolation: 'boolean?',
      monitoringPeriodMs: 'number?',
      statsTimeoutMs: 'number?',
      reclaimTimeoutMs: 'number?',
      podCleanupTimeoutMs: 'number?',
    });
    checkComponents('EvictionManager', given, {
      pods: ['active', 'isCritical', 'kill', 'isGone'],
      stats: ['summary'],
      disks: ['layout'],
      reclaim: ['deleteUnusedContainers', 'deleteUnusedImages'],
    });
    const common = withDefaults(given);
    const components = { ...common, recorder: bearing(common.recorder, common.logger) };
    this.#components = components;
    this.#options = withOptionDefaults(options);
    checkValues(this.#options);
    // Until the disk layout is known, only memory and PID thresholds are monitored.
    this.#thresholds = options.thresholds.filter(({ signal }) => conditionOf(signal) !== 'DiskPressure');
    const { statsTimeoutMs, podCleanupTimeoutMs, monitoringPeriodMs } = this.#options;
    this.#statistics = new Statistics(components, { timeoutMs: statsTimeoutMs });
    const onAnswer = (): void => this.#disksKnown?.();
    this.#inquiry = new DiskInquiry({ ...components, onAnswer }, { timeoutMs: statsTimeoutMs });
    this.#evictor = new Evictor(components, { goneTimeoutMs: podCleanupTimeoutMs });
    this.#watch = new HeadroomWatch({ ...components, gauges: given.gauges ?? [] }, { maxMs: monitoringPeriodMs });
    const seen = (figures: Figures): void => this.#seeMeanwhile(figures);
    const parts = { statistics: this.#statistics, evictor: this.#evictor, decisions: this.#decisions };
    this.#responder = new ThresholdResponder({ ...components, ...parts, aside: this.#aside, seen }, this.#options);
  }

  /**
   * Monitors the node until `signal` is aborted. An exception of the `pods` port is logged and fails the round; the
   * next round starts one second later.
   */
  async start(signal: AbortSignal): Promise<void> {
    this.#startOnce.begin();
    const { clock, logger } = this.#components;
    const { thresholds, localStorageCapacityIsolation } = this.#options;
    if (thresholds.length === 0 && !localStorageCapacityIsolation) return;
    logger.info({ thresholds: thresholds.map(formatThreshold) }, 'Eviction manager: starting control loop');
    this.#staleUntilMs = clock.now();
    try {
      while (!signal.aborted) {
        try {
          const hasEvicted = await this.#round(signal);
          this.#failure = undefined;
          if (hasEvicted) this.#staleUntilMs = clock.now();
          else await this.#aside.wait(signal);
        } catch (err) {
          signal.throwIfAborted();
          this.#fail(err);
          await sleep(clock, RETRY_MS, signal);
        }
      }
    } catch (err) {
      if (!signal.aborted) throw err;
    } finally {
      await Promise.all([this.#aside.ended(), this.#inquiry.ended()]);
    }
  }

  /** Returns the node's pressure conditions. Each condition outlasts its cause by the transition period (N3). */
  pressure(): Pressure {
    const conditions = conditionsIn(this.#state);
    const has = (condition: PressureCondition): boolean => conditions.includes(condition);
    return { memory: has('MemoryPressure'), disk: has('DiskPressure'), pid: has('PIDPressure') };
  }

  /** Decides whether a pod can be admitted under the current node conditions. */
  admit(pod: Pod): PressureVerdict {
    return admitUnderPressure(pod, conditionsIn(this.#state));
  }

  /**
   * Returns the observed thresholds and conditions, the current problem, and the latest decisions with their reasons.
   */
  explain(): EvictionExplanation {
    const nowMs = this.#components.clock.monotonic();
    const problem = this.#failure ?? this.#inquiry.problem ?? this.#statistics.problem ?? this.#staleness;
    return {
      conditions: conditionsIn(this.#state),
      thresholds: this.#thresholds.map((threshold) => {
        const sinceMs = this.#state.firstMetAt.get(threshold);
        return {
          threshold: formatThreshold(threshold),
          ...observationView(this.#observations.get(threshold.signal)),
          met: sinceMs !== undefined,
          ...(sinceMs !== undefined && { metForMs: nowMs - sinceMs }),
        };
      }),
      ...(problem !== undefined && { problem }),
      decisions: this.#decisions.all(),
    };
  }

  /** Returns the decisions in which the pod was ranked or evicted, newest last. */
  explainPod(uid: string): readonly EvictionDecision[] {
    return this.#decisions
      .all()
      .filter(({ evicted, ranked }) => evicted === uid || ranked.some((place) => place.uid === uid));
  }

  /** Resolves when the node must be checked again. */
  async #nextLook(signal: AbortSignal): Promise<void> {
    const soonMs = this.#isWaitingForFigures ? RETRY_MS : this.#patienceMs;
    const nextMs = untilNextMs(this.#components.clock.monotonic(), this.#options.monitoringPeriodMs);
    if (this.#layout === undefined && this.#inquiry.layout !== undefined) return;
    using link = linkAbort(signal);
    const disksKnown = Promise.withResolvers<undefined>();
    this.#disksKnown = () => disksKnown.resolve(undefined);
    const looks = [
      this.#watch.crossed(Math.min(nextMs, this.#graceEndsInMs(), soonMs), link.signal),
      disksKnown.promise,
    ];
    const crossed = await Promise.race(looks).finally(() => link.abort());
    if (crossed === undefined) return;
    this.#isWaitingForFigures = true;
    this.#components.logger.info({ signal: crossed }, 'Eviction manager: a threshold appears to be crossed');
  }

  /**
   * Records a failed round. Stats measured so far may not reflect actions of that round (N2). An identical, continuing
   * failure is logged once.
   */
  #fail(err: unknown): void {
    const { clock, logger } = this.#components;
    const failure = `eviction round failed: ${errorText(err)}`;
    if (failure !== this.#failure) logger.error({ err }, 'Eviction manager: round failed, retrying soon');
    this.#failure = failure;
    this.#staleUntilMs = clock.now();
  }

  /** Checks the node once and reacts. @returns whether a pod was evicted */
  async #round(signal: AbortSignal): Promise<boolean> {
    this.#evictor.look();
    this.#lookAside();
    const layout = this.#disks(signal);
    const figures = await this.#measure(signal);
    if (figures === undefined) return false;
    const actionable = this.#see(figures);
    if (layout !== undefined && (await this.#keepStorageLimits(figures, actionable, signal))) return true;
    let newest = figures;
    for (const threshold of actionable) {
      // Work was waited for, so the stats are out of date (N2).
      if (this.#aside.isLookDue) return false;
      const lane = laneOf(threshold.signal);
      if (this.#busy.has(lane)) {
        this.#responder.hurry(threshold, signal);
        continue;
      }
      // A reaction to an earlier threshold may have resolved this one.
      if (newest !== figures && !isMetBy(threshold, newest.observations, true)) continue;
      const { outcome, after } = await this.#responder.relieve(
        threshold,
        actionable,
        newest,
        layout ?? ONE_DISK,
        signal,
      );
      if (outcome === 'under way') this.#busy = new Set([...this.#busy, lane]);
      this.#isWaitingForFigures ||= outcome === 'unknown' || outcome === 'settling';
      if (outcome === 'unknown' || outcome === 'evicted') return outcome === 'evicted';
      newest = after;
    }
    return false;
  }

  /**
   * Marks stats as stale if background work has finished: stats measured before its end do not reflect the work (N2).
   */
  #lookAside(): void {
    const busy = new Set(LANES.filter((lane) => this.#aside.isUnderWay(lane)));
    if ([...this.#busy].some((lane) => !busy.has(lane))) this.#staleUntilMs = this.#components.clock.now();
    this.#busy = busy;
  }

  /** @returns whether pods were evicted and are gone */
  async #keepStorageLimits(figures: Figures, actionable: readonly Threshold[], signal: AbortSignal): Promise<boolean> {
    if (!this.#options.localStorageCapacityIsolation || !figures.ofPods || this.#busy.has('disk')) return false;
    const parts = { ...this.#components, evictor: this.#evictor, decisions: this.#decisions };
    const over = overStorageLimits(parts, figures);
    if (over.length === 0) return false;
    if (actionable.some((threshold) => laneOf(threshold.signal) === 'node')) this.#patienceMs = OVER_LIMITS_PATIENCE_MS;
    const end = async (): Promise<void> => {
      await endOverLimits(parts, over, signal);
      this.#responder.podsEnded();
    };
    const hasEnded = await this.#aside.run('disk', end, signal);
    this.#patienceMs = Number.POSITIVE_INFINITY;
    if (!hasEnded) this.#busy = new Set([...this.#busy, 'disk']);
    return hasEnded;
  }

  /**
   * Returns whether stats of the node alone are sufficient. Usually no pod has a storage limit that must be checked;
   * then the pods are not measured.
   */
  #looksAtNodeAlone(): boolean {
    if (!this.#statistics.hasNodeAlone) return false;
    return !this.#options.localStorageCapacityIsolation || !this.#components.pods.active().some(hasStorageLimit);
  }

  /** Reads node stats, with pod stats if a pod may have to be chosen in this round. */
  async #measure(
    signal: AbortSignal,
    of: 'node' | 'pods' = this.#looksAtNodeAlone() ? 'node' : 'pods',
  ): Promise<Figures | undefined> {
    const readings = await this.#watch.read(this.#thresholds, signal);
    const figures = await this.#statistics.take(signal, of);
    if (figures === undefined) return undefined;
    // Pods must be chosen by stats that count as new, so these node-only stats must not be recorded as the newest.
    if (!figures.ofPods && this.#mayChoose(figures)) return await this.#measure(signal, 'pods');
    this.#watch.mark(readings, this.#thresholds, figures.observations);
    return figures;
  }

  /**
   * Returns whether a pod may have to be chosen in this round. For disks, pods are measured both before and after the
   * removal, because the runtime's first values for writable layers may be old.
   */
  #mayChoose({ observations }: Figures): boolean {
    const met = this.#thresholds.filter((threshold) => isMetBy(threshold, observations, false));
    return met.length > 0 || this.#state.pressing.length > 0;
  }

  /** Updates the pressure state from the stats. @returns the thresholds that require a reaction */
  #see(figures: Figures): readonly Threshold[] {
    const { observations, askedAtMs } = figures;
    // If the wall clock was set back, the stale limit moves back too, so that stats do not stay stale forever.
    this.#staleUntilMs = Math.min(this.#staleUntilMs, askedAtMs);
    const input = {
      thresholds: this.#thresholds,
      observations,
      nowMs: this.#components.clock.monotonic(),
      staleUntilMs: this.#staleUntilMs,
      transitionMs: this.#options.pressureTransitionMs,
    };
    const step = nextPressure(this.#state, input);
    const { state, actionable } = step;
    this.#staleness = staleness(step, input);
    this.#observations = observations;
    this.#responder.settle(figures, [...state.firstMetAt.keys()]);
    this.#isWaitingForFigures = state.pressing.length > actionable.length;
    this.#remember(state);
    return actionable;
  }

  /** Stores the state and reports changed node conditions. */
  #remember(state: PressureState): void {
    const before = conditionsIn(this.#state);
    this.#state = state;
    const conditions = conditionsIn(state);
    if (conditions.join() === before.join()) return;
    const { logger, onPressureChanged } = this.#components;
    logger.info({ conditions }, 'Eviction manager: node conditions changed');
    if (onPressureChanged !== undefined) bear('onPressureChanged', onPressureChanged, logger);
  }

  #seeMeanwhile({ observations }: Figures): void {
    const nowMs = this.#components.clock.monotonic();
    this.#remember(seenMeanwhile(this.#state, { thresholds: this.#thresholds, observations, nowMs }));
  }

  /**
   * Returns the disk layout, or `undefined` and starts a query in the background: memory eviction must not wait for the
   * layout (N2).
   */
  #disks(signal: AbortSignal): DiskLayout | undefined {
    if (this.#layout !== undefined) return this.#layout;
    this.#inquiry.ask(signal);
    const { layout } = this.#inquiry;
    if (layout === undefined) return undefined;
    const { thresholds, overridden } = withContainerFs(this.#options.thresholds, layout);
    if (overridden.length > 0) {
      this.#components.logger.warn(
        { signals: overridden },
        'Ignoring thresholds of containerfs: containerfs uses the thresholds of the disk that it is on',
      );
    }
    this.#layout = layout;
    this.#thresholds = thresholds;
    return layout;
  }

  /** Time until the first running grace period ends. */
  #graceEndsInMs(): number {
    const nowMs = this.#components.clock.monotonic();
    const rest = [...this.#state.firstMetAt].map(([{ gracePeriodMs }, sinceMs]) => sinceMs + gracePeriodMs - nowMs);
    return Math.min(...rest.filter((ms) => ms > 0));
  }
}
