import { abortable, checkComponents, checkOptions, linkAbort, StartOnce, sleep } from '@node-agent/async';
import type { Pod } from '@node-agent/pod-spec';
import { type CommonPorts, errorText, type WithDefaults, withDefaults } from '@node-agent/telemetry';
import { admitUnderPressure, type PressureVerdict } from './admit.ts';
import { BackgroundWork } from './background-work.ts';
import { nextCheckInMs, RETRY_MS } from './check-schedule.ts';
import { Decisions, type EvictionDecision } from './decisions.ts';
import type { DiskLayout } from './disk-layout.ts';
import { DiskLayoutQuery } from './disk-layout-query.ts';
import { DiskSettling } from './disk-settling.ts';
import { Evictor } from './evictor.ts';
import type { EvictionExplanation, Pressure } from './explanation.ts';
import { guardedRecorder } from './guarded-calls.ts';
import type { Gauge } from './headroom.ts';
import { HeadroomWatch } from './headroom-watch.ts';
import { LANES, type Lane, laneOf } from './lanes.ts';
import { hasStorageLimit } from './local-storage.ts';
import { MonitoredThresholds } from './monitored-thresholds.ts';
import { checkValues, type EvictionLimits, type EvictionOptions, withOptionDefaults } from './options.ts';
import type { EvictionDisks, EvictionDiskUsage, EvictionPods, EvictionReclaim, EvictionStats } from './ports.ts';
import { isMetBy } from './pressure.ts';
import { PressureTracker } from './pressure-tracker.ts';
import type { PressureCondition } from './signals.ts';
import { StatsReader, type StatsSnapshot } from './stats-reader.ts';
import { evictOverLimits, overStorageLimits } from './storage-limits.ts';
import { formatThreshold, type Threshold } from './threshold.ts';
import { ThresholdResponder } from './threshold-responder.ts';

/** Dependencies of {@link EvictionManager}. */
export interface EvictionComponents extends Partial<CommonPorts> {
  readonly pods: EvictionPods;
  readonly stats: EvictionStats;
  readonly disks: EvictionDisks;
  readonly reclaim: EvictionReclaim;
  /**
   * Measures volumes and writable layers before pods are ranked. If absent, pods are ranked by the disk usage in the
   * stats.
   */
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
/**
 * Maximum wait of a memory or PID shortage for pods that are evicted for exceeding their own storage limits. Pods that
 * exceed their storage limits have a grace period of one second, and their termination may resolve the shortage. If the
 * termination of such pods takes longer than this, the shortage is handled without waiting.
 */
const OVER_LIMITS_WAIT_MS = 2000;

/**
 * Evicts pods before the node runs out of memory, disk, inodes or PIDs (`pkg/kubelet/eviction/eviction_manager.go`).
 * The manager acts only on fresh stats, removes dead containers and unused images first, evicts one pod at a time, and
 * chooses the next pod after the evicted pod is gone (N2).
 * Metrics: `kubelet_evictions{eviction_signal}`, `kubelet_eviction_stats_age_seconds{eviction_signal}`.
 */
export class EvictionManager {
  readonly #components: WithDefaults<EvictionComponents & CommonPorts>;
  #options: Required<EvictionOptions>;
  /** Resolved once there is a threshold or a storage limit to check. */
  readonly #needed = Promise.withResolvers<void>();
  readonly #statsReader: StatsReader;
  readonly #evictor: Evictor;
  readonly #watch: HeadroomWatch;
  readonly #decisions = new Decisions();
  readonly #background = new BackgroundWork((signal) => this.#untilNextCheck(signal));
  readonly #settling: DiskSettling;
  readonly #responder: ThresholdResponder;
  readonly #layoutQuery: DiskLayoutQuery;
  readonly #thresholds: MonitoredThresholds;
  readonly #pressure: PressureTracker;
  /** Ends the wait for the next check of the node when the disk layout becomes known. */
  #onLayoutKnown: (() => void) | undefined;
  /**
   * Lanes in which work was in progress when this round began, or is in progress now. The stats of the round may have
   * been read before the work in these lanes ended.
   */
  #busy: ReadonlySet<Lane> = new Set();
  /** Whether a threshold may need a response, but the stats were not fresh enough to act on. */
  #needsNewerStats = false;
  /**
   * Maximum delay of the next check of the node. Finite only while the manager waits until pods that exceed their
   * storage limits are gone, and a threshold of the lane `node` needs a response.
   */
  #maxDelayMs = Number.POSITIVE_INFINITY;
  /** Error of the last round; `undefined` if the round succeeded. */
  #failure: string | undefined;
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
    const components = { ...common, recorder: guardedRecorder(common.recorder, common.logger) };
    this.#components = components;
    this.#options = withOptionDefaults(options);
    checkValues(this.#options);
    const { statsTimeoutMs, podCleanupTimeoutMs, monitoringPeriodMs, pressureTransitionMs } = this.#options;
    this.#statsReader = new StatsReader(components, { timeoutMs: statsTimeoutMs });
    const onLayout = (): void => this.#onLayoutKnown?.();
    this.#layoutQuery = new DiskLayoutQuery({ ...components, onLayout }, { timeoutMs: statsTimeoutMs });
    this.#thresholds = new MonitoredThresholds(options.thresholds, this.#layoutQuery, components.logger);
    this.#pressure = new PressureTracker(components, { transitionMs: pressureTransitionMs });
    this.#evictor = new Evictor(components, { goneTimeoutMs: podCleanupTimeoutMs });
    this.#watch = new HeadroomWatch({ ...components, gauges: given.gauges ?? [] }, { maxMs: monitoringPeriodMs });
    this.#settling = new DiskSettling(components.clock);
    const parts = {
      statsReader: this.#statsReader,
      evictor: this.#evictor,
      settling: this.#settling,
      background: this.#background,
      decisions: this.#decisions,
      onStats: (stats: StatsSnapshot) => this.#pressure.observeBetweenChecks(stats, this.#thresholds.all()),
    };
    this.#responder = new ThresholdResponder({ ...components, ...parts }, this.#options);
  }

  /**
   * Changes thresholds and times while the manager runs, from the next check of the node on. A threshold that stays the
   * same keeps the time for which it has been met.
   * @param limits an absent option gets its default
   * @throws EvictionError `InvalidOptions`, naming the field, if an option is invalid; nothing is changed then
   */
  update(limits: EvictionLimits): void {
    const { thresholds: _, maxPodGracePeriodSeconds: _max, pressureTransitionMs: _ms, ...kept } = this.#options;
    const options = withOptionDefaults({ ...kept, ...limits });
    checkValues(options);
    this.#options = options;
    this.#thresholds.replace(options.thresholds);
    this.#pressure.setTransition(options.pressureTransitionMs);
    this.#responder.setMaxPodGracePeriod(options.maxPodGracePeriodSeconds);
    this.#components.logger.info(
      { thresholds: options.thresholds.map(formatThreshold) },
      'Eviction manager: thresholds changed',
    );
    this.#checkNeed();
  }

  #checkNeed(): void {
    const { thresholds, localStorageCapacityIsolation } = this.#options;
    if (thresholds.length > 0 || localStorageCapacityIsolation) this.#needed.resolve();
  }

  /**
   * Monitors the node until `signal` is aborted. An exception of the `pods` port is logged and fails the round; the
   * next round starts one second later.
   */
  async start(signal: AbortSignal): Promise<void> {
    this.#startOnce.begin();
    const { clock, logger } = this.#components;
    this.#checkNeed();
    const isNeeded = await abortable(this.#needed.promise, signal).then(
      () => true,
      () => false,
    );
    if (!isNeeded) return;
    logger.info(
      { thresholds: this.#options.thresholds.map(formatThreshold) },
      'Eviction manager: starting control loop',
    );
    this.#pressure.markStale();
    try {
      while (!signal.aborted) {
        try {
          const hasEvicted = await this.#round(signal);
          this.#failure = undefined;
          if (hasEvicted) this.#pressure.markStale();
          else await this.#background.waitForNextCheck(signal);
        } catch (err) {
          signal.throwIfAborted();
          this.#fail(err);
          await sleep(clock, RETRY_MS, signal);
        }
      }
    } catch (err) {
      if (!signal.aborted) throw err;
    } finally {
      await Promise.all([this.#background.ended(), this.#layoutQuery.ended()]);
    }
  }

  /** Returns the node's pressure conditions. Each condition outlasts its cause by the transition period (N3). */
  pressure(): Pressure {
    const { conditions } = this.#pressure;
    const has = (condition: PressureCondition): boolean => conditions.includes(condition);
    return { memory: has('MemoryPressure'), disk: has('DiskPressure'), pid: has('PIDPressure') };
  }

  /** Decides whether a pod can be admitted under the current node conditions. */
  admit(pod: Pod): PressureVerdict {
    return admitUnderPressure(pod, this.#pressure.conditions);
  }

  /**
   * Returns the observed thresholds and conditions, the current problem, and the latest decisions with their reasons.
   */
  explain(): EvictionExplanation {
    const problem = this.#failure ?? this.#layoutQuery.problem ?? this.#statsReader.problem ?? this.#pressure.staleness;
    return {
      conditions: this.#pressure.conditions,
      thresholds: this.#pressure.explain(this.#thresholds.all()),
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
  async #untilNextCheck(signal: AbortSignal): Promise<void> {
    if (this.#thresholds.isLayoutNew) return;
    const delayMs = nextCheckInMs({
      nowMs: this.#components.clock.monotonic(),
      periodMs: this.#options.monitoringPeriodMs,
      firstMetAt: this.#pressure.firstMetAt,
      needsNewerStats: this.#needsNewerStats,
      maxDelayMs: this.#maxDelayMs,
    });
    using link = linkAbort(signal);
    const layoutKnown = Promise.withResolvers<undefined>();
    this.#onLayoutKnown = () => layoutKnown.resolve(undefined);
    const causes = [this.#watch.crossed(delayMs, link.signal), layoutKnown.promise];
    const crossed = await Promise.race(causes).finally(() => link.abort());
    if (crossed === undefined) return;
    this.#needsNewerStats = true;
    this.#components.logger.info({ signal: crossed }, 'Eviction manager: a threshold appears to be crossed');
  }

  /**
   * Records a failed round. Stats measured so far may not reflect actions of that round (N2). An identical, continuing
   * failure is logged once.
   */
  #fail(err: unknown): void {
    const { logger } = this.#components;
    const failure = `eviction round failed: ${errorText(err)}`;
    if (failure !== this.#failure) logger.error({ err }, 'Eviction manager: round failed, retrying soon');
    this.#failure = failure;
    this.#pressure.markStale();
  }

  /** Checks the node once and responds. @returns whether pods were evicted and are gone */
  async #round(signal: AbortSignal): Promise<boolean> {
    this.#evictor.forgetGone();
    this.#updateBusyLanes();
    const layout = this.#thresholds.startRound(signal);
    const stats = await this.#measure(signal);
    if (stats === undefined) return false;
    const { actionable, met, needsNewerStats } = this.#pressure.observe(stats, this.#thresholds.all());
    this.#responder.onStats(stats, met);
    this.#needsNewerStats = needsNewerStats;
    if (layout !== undefined) {
      const outcome = await this.#enforceStorageLimits(stats, actionable, signal);
      if (outcome !== 'none') return outcome === 'evicted';
    }
    return await this.#respond(actionable, stats, layout ?? ONE_DISK, signal);
  }

  /** Responds to the thresholds, one after another. @returns whether a pod was evicted and is gone */
  async #respond(
    actionable: readonly Threshold[],
    roundStats: StatsSnapshot,
    layout: DiskLayout,
    signal: AbortSignal,
  ): Promise<boolean> {
    let stats = roundStats;
    for (const threshold of actionable) {
      const lane = laneOf(threshold.signal);
      // A response to an earlier threshold may have ended this shortage too.
      const isMet = stats === roundStats || isMetBy(threshold, stats.observations, true);
      const request = { threshold, actionable, stats, isMet, isLaneBusy: this.#busy.has(lane), layout };
      const response = await this.#responder.respond(request, signal);
      const { step, retry } = response.loop;
      this.#needsNewerStats ||= retry;
      if (step === 'checkNow') this.#busy = new Set([...this.#busy, lane]);
      if (step !== 'next') return step === 'evicted';
      stats = response.stats;
    }
    return false;
  }

  /**
   * Marks stats as stale if background work has finished: stats measured before its end do not reflect the work (N2).
   */
  #updateBusyLanes(): void {
    const busy = new Set(LANES.filter((lane) => this.#background.isInProgress(lane)));
    if ([...this.#busy].some((lane) => !busy.has(lane))) this.#pressure.markStale();
    this.#busy = busy;
  }

  /**
   * Evicts the pods that exceed their own storage limits.
   * @returns `evicted`: the pods are gone. `working`: the pods are being evicted, and the node must be checked again.
   */
  async #enforceStorageLimits(
    stats: StatsSnapshot,
    actionable: readonly Threshold[],
    signal: AbortSignal,
  ): Promise<'none' | 'evicted' | 'working'> {
    if (!this.#options.localStorageCapacityIsolation || !stats.hasPods || this.#busy.has('disk')) return 'none';
    const parts = { ...this.#components, evictor: this.#evictor, decisions: this.#decisions };
    const over = overStorageLimits(parts, stats);
    if (over.length === 0) return 'none';
    if (actionable.some((threshold) => laneOf(threshold.signal) === 'node')) this.#maxDelayMs = OVER_LIMITS_WAIT_MS;
    const evict = async (): Promise<void> => {
      await evictOverLimits(parts, over, signal);
      this.#settling.podsGone();
    };
    const hasEnded = await this.#background.run('disk', evict, signal);
    this.#maxDelayMs = Number.POSITIVE_INFINITY;
    if (!hasEnded) this.#busy = new Set([...this.#busy, 'disk']);
    return hasEnded ? 'evicted' : 'working';
  }

  /**
   * Returns whether stats of the node alone are sufficient. Stats of pods are needed only if a pod has a storage limit
   * that must be checked, which is rare.
   */
  #needsNodeStatsOnly(): boolean {
    if (!this.#statsReader.hasNodeStats) return false;
    return !this.#options.localStorageCapacityIsolation || !this.#components.pods.active().some(hasStorageLimit);
  }

  /** Reads node stats, with pod stats if a pod may have to be chosen in this round. */
  async #measure(
    signal: AbortSignal,
    of: 'node' | 'pods' = this.#needsNodeStatsOnly() ? 'node' : 'pods',
  ): Promise<StatsSnapshot | undefined> {
    const thresholds = this.#thresholds.all();
    const readings = await this.#watch.read(thresholds, signal);
    const stats = await this.#statsReader.read(signal, of);
    if (stats === undefined) return undefined;
    // If a pod may have to be chosen, the node-only stats are dropped and read again with pods. If node-only stats were
    // returned, their times would be recorded as the newest, and pod stats with the same times would not count as new.
    if (!stats.hasPods && this.#pressure.mayChoose(stats, thresholds)) return await this.#measure(signal, 'pods');
    this.#watch.setBaseline(readings, thresholds, stats.observations);
    return stats;
  }
}
