import { withTimeout } from '@node-agent/async';
import type { Pod } from '@node-agent/pod-spec';
import {
  type CommonPorts,
  errorText,
  eventReasons,
  type Histogram,
  type WithDefaults,
  withDefaults,
} from '@node-agent/telemetry';
import { admitUnderPressure, type PressureVerdict } from './admit.ts';
import { Decisions, type EvictionDecision, observationView, rankedView } from './decisions.ts';
import { type DiskLayout, reclaimsOf, withContainerFs } from './disk-layout.ts';
import { Evictor } from './evictor.ts';
import type { EvictionExplanation, Pressure } from './explanation.ts';
import { gracePeriodSeconds } from './grace-period.ts';
import { type Gauge, HeadroomWatch } from './headroom.ts';
import { hasStorageLimit } from './local-storage.ts';
import { evictionMessage } from './messages.ts';
import type { Observations } from './observations.ts';
import { checkOptions, type EvictionOptions, withOptionDefaults } from './options.ts';
import type { EvictionDisks, EvictionPods, EvictionReclaim, EvictionStats, EvictionVolumes } from './ports.ts';
import { isMetBy, NO_PRESSURE, nextPressure, type PressureState, seenMeanwhile } from './pressure.ts';
import { type RankedPod, rankPods } from './rank.ts';
import { measureVolumes, reclaim } from './reclaim.ts';
import { conditionOf, type PressureCondition, resourceOf } from './signals.ts';
import { type Figures, Statistics } from './statistics.ts';
import { keepStorageLimits } from './storage-limits.ts';
import { formatThreshold, type Threshold } from './threshold.ts';

/** What an {@link EvictionManager} works with. */
export interface EvictionComponents extends Partial<CommonPorts> {
  readonly pods: EvictionPods;
  readonly stats: EvictionStats;
  readonly disks: EvictionDisks;
  readonly reclaim: EvictionReclaim;
  /** Default: what the statistics say of volumes is taken as it is. */
  readonly volumes?: EvictionVolumes;
  /** Looked at between two rounds, so that a threshold is noticed when it is crossed; without any of a signal the next round does it. */
  readonly gauges?: readonly Gauge[];
  /** Called when {@link EvictionManager.pressure} is another one. */
  readonly onPressureChanged?: () => void;
}

const ONE_DISK: DiskLayout = { dedicatedImageFs: false, splitContainerFs: false };
/** How soon figures are asked for again where those that there are do not count. */
const RETRY_MS = 1000;

/**
 * Ends pods before the node runs out of something (`pkg/kubelet/eviction/eviction_manager.go`): one at a time, for fresh figures, after
 * dead containers and unused images, and chooses again when the victim is gone (N2).
 * Metrics: `kubelet_evictions{eviction_signal}`, `kubelet_eviction_stats_age_seconds{eviction_signal}`.
 */
export class EvictionManager {
  readonly #components: WithDefaults<EvictionComponents & CommonPorts>;
  readonly #options: Required<EvictionOptions>;
  readonly #statistics: Statistics;
  readonly #evictor: Evictor;
  readonly #watch: HeadroomWatch;
  readonly #decisions = new Decisions();
  readonly #age: Histogram<'eviction_signal'>;
  #layout: DiskLayout | undefined;
  #layoutProblem: string | undefined;
  #thresholds: readonly Threshold[];
  #state: PressureState = NO_PRESSURE;
  #conditions: readonly PressureCondition[] = [];
  #observations: Observations = new Map();
  /** Something is to be done, and there were no figures fresh enough to do it by. */
  #isWaitingForFigures = false;
  /** Figures of before this instant of the wall clock know nothing of what was done last. */
  #staleUntilMs = 0;
  /** Since which instant of the wall clock what nobody needs is gone, where no figures have told yet what came of that. */
  readonly #reclaimedAtMs = new Map<Threshold, number>();

  /** @throws EvictionError `InvalidOption`, naming the field */
  constructor(given: EvictionComponents, options: EvictionOptions) {
    const components = withDefaults(given);
    this.#components = components;
    this.#options = withOptionDefaults(options);
    checkOptions(this.#options);
    // Until it is known which disks there are, memory and process ids are looked after.
    this.#thresholds = options.thresholds.filter(({ signal }) => conditionOf(signal) !== 'DiskPressure');
    const { statsTimeoutMs, podCleanupTimeoutMs, monitoringPeriodMs } = this.#options;
    this.#statistics = new Statistics(components, { timeoutMs: statsTimeoutMs });
    this.#evictor = new Evictor(components, { goneTimeoutMs: podCleanupTimeoutMs });
    this.#watch = new HeadroomWatch({ ...components, gauges: given.gauges ?? [] }, { maxMs: monitoringPeriodMs });
    this.#age = components.metrics.histogram({
      name: 'kubelet_eviction_stats_age_seconds',
      help: 'How old the statistics were that a pod was evicted for, by signal.',
      labels: ['eviction_signal'],
    });
  }

  /** Watches the node until `signal` is aborted. */
  async start(signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#components;
    const { thresholds, localStorageCapacityIsolation, monitoringPeriodMs } = this.#options;
    if (thresholds.length === 0 && !localStorageCapacityIsolation) return;
    logger.info({ thresholds: thresholds.map(formatThreshold) }, 'Eviction manager: starting control loop');
    this.#staleUntilMs = clock.now();
    try {
      while (!signal.aborted) {
        const evicted = await this.#round(signal);
        if (evicted) {
          this.#staleUntilMs = clock.now();
          continue;
        }
        const soonMs = this.#isWaitingForFigures ? RETRY_MS : Number.POSITIVE_INFINITY;
        const restMs = Math.min(monitoringPeriodMs, this.#graceEndsInMs(), soonMs);
        const crossed = await this.#watch.crossed(restMs, signal);
        if (crossed !== undefined)
          logger.info({ signal: crossed }, 'Eviction manager: a threshold seems to be crossed');
      }
    } catch (err) {
      if (!signal.aborted) throw err;
    }
  }

  /** What the node is short of, for its conditions; each outlasts its cause by the transition period (N3). */
  pressure(): Pressure {
    const has = (condition: PressureCondition): boolean => this.#conditions.includes(condition);
    return { memory: has('MemoryPressure'), disk: has('DiskPressure'), pid: has('PIDPressure') };
  }

  /** Whether a pod may begin now. */
  admit(pod: Pod): PressureVerdict {
    return admitUnderPressure(pod, this.#conditions);
  }

  /** What it sees, and what it did and why. */
  explain(): EvictionExplanation {
    const nowMs = this.#components.clock.monotonic();
    const problem = this.#layoutProblem ?? this.#statistics.problem;
    return {
      conditions: this.#conditions,
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

  /** The decisions in which a pod had a place, or was evicted; the newest last. */
  explainPod(uid: string): readonly EvictionDecision[] {
    return this.#decisions
      .all()
      .filter(({ evicted, ranked }) => evicted === uid || ranked.some((place) => place.uid === uid));
  }

  /** One look at the node, and what it leads to. @returns whether a pod was evicted */
  async #round(signal: AbortSignal): Promise<boolean> {
    this.#evictor.look();
    const layout = await this.#disks(signal);
    if (this.#looksAtNodeAlone() && !(await this.#isShort(signal))) return false;
    const readings = await this.#watch.read(signal);
    const figures = await this.#statistics.take(signal);
    if (figures === undefined) return false;
    this.#watch.mark(readings, this.#thresholds, figures.observations);
    const actionable = this.#see(figures);
    if (layout !== undefined && this.#options.localStorageCapacityIsolation) {
      const parts = { ...this.#components, evictor: this.#evictor, decisions: this.#decisions };
      if (await keepStorageLimits(parts, figures, layout, signal)) return true;
    }
    let newest = figures;
    for (const threshold of actionable) {
      // What helped against one may have helped against the other.
      if (newest !== figures && !isMetBy(threshold, newest.observations, true)) continue;
      const { outcome, after } = await this.#relieve(threshold, newest, layout ?? ONE_DISK, signal);
      this.#isWaitingForFigures ||= outcome === 'unknown';
      if (outcome === 'unknown' || outcome === 'evicted') return outcome === 'evicted';
      newest = after;
    }
    return false;
  }

  /** Most of the time nobody has to be chosen or measured: then it is not found out what each pod takes. */
  #looksAtNodeAlone(): boolean {
    if (!this.#statistics.hasNodeAlone) return false;
    return !this.#options.localStorageCapacityIsolation || !this.#components.pods.active().some(hasStorageLimit);
  }

  /** Whether pods are to be looked at, by the node's own figures. */
  async #isShort(signal: AbortSignal): Promise<boolean> {
    const readings = await this.#watch.read(signal);
    const figures = await this.#statistics.take(signal, 'node');
    if (figures === undefined) return false;
    const { observations } = figures;
    const isAnyMet = this.#thresholds.some((threshold) => isMetBy(threshold, observations, false));
    // Those that count are the figures by which pods are chosen: these would make them old news.
    if (this.#state.pressing.length > 0 || isAnyMet) return true;
    this.#watch.mark(readings, this.#thresholds, observations);
    this.#see(figures);
    return false;
  }

  /** Takes in what the figures say of the node. @returns the thresholds for which something is to be done */
  #see({ observations, askedAtMs }: Figures): readonly Threshold[] {
    const { clock, onPressureChanged, logger } = this.#components;
    // A clock that was set back makes nothing stale for ever.
    this.#staleUntilMs = Math.min(this.#staleUntilMs, askedAtMs);
    const { state, conditions, actionable } = nextPressure(this.#state, {
      thresholds: this.#thresholds,
      observations,
      nowMs: clock.monotonic(),
      staleUntilMs: this.#staleUntilMs,
      transitionMs: this.#options.pressureTransitionMs,
    });
    const changed = conditions.join() !== this.#conditions.join();
    this.#state = state;
    this.#conditions = conditions;
    this.#observations = observations;
    this.#isWaitingForFigures = state.pressing.length > actionable.length;
    if (changed) {
      logger.info({ conditions }, 'Eviction manager: the node has other conditions');
      onPressureChanged?.();
    }
    return actionable;
  }

  #seeMeanwhile({ observations }: Figures): void {
    const nowMs = this.#components.clock.monotonic();
    this.#state = seenMeanwhile(this.#state, { thresholds: this.#thresholds, observations, nowMs });
  }

  async #disks(signal: AbortSignal): Promise<DiskLayout | undefined> {
    if (this.#layout !== undefined) return this.#layout;
    const { clock, disks, logger } = this.#components;
    try {
      const ask = (limit: AbortSignal): Promise<DiskLayout> => disks.layout(limit);
      const layout = await withTimeout(clock, this.#options.statsTimeoutMs, ask, signal);
      const { thresholds, overridden } = withContainerFs(this.#options.thresholds, layout);
      if (overridden.length > 0) {
        logger.warn(
          { signals: overridden },
          'Thresholds of containerfs are those of the disk that it is on: ignoring these',
        );
      }
      this.#layout = layout;
      this.#layoutProblem = undefined;
      this.#thresholds = thresholds;
    } catch (err) {
      signal.throwIfAborted();
      const problem = `it is not known which disks there are: ${errorText(err)}`;
      if (problem !== this.#layoutProblem)
        logger.error({ err }, 'Eviction manager: failed to learn which disks there are');
      this.#layoutProblem = problem;
    }
    return this.#layout;
  }

  /** Does something about one threshold: removes what nobody needs, and where that is not enough evicts one pod. */
  async #relieve(
    threshold: Threshold,
    before: Figures,
    layout: DiskLayout,
    signal: AbortSignal,
  ): Promise<{ readonly outcome: EvictionDecision['outcome']; readonly after: Figures }> {
    const { recorder, clock, logger } = this.#components;
    const resource = resourceOf(threshold.signal);
    logger.info({ resource, threshold: formatThreshold(threshold) }, 'Eviction manager: attempting to reclaim');
    recorder.event(
      this.#options.nodeRef,
      'Warning',
      eventReasons.evictionThresholdMet,
      `Attempting to reclaim ${resource}`,
    );
    const reclaims = reclaimsOf(threshold.signal, layout);
    const told = (
      figures: Figures,
    ): Pick<EvictionDecision, 'cause' | 'reclaims' | 'atMs' | 'available' | 'capacity'> => ({
      ...{ atMs: clock.now(), cause: formatThreshold(threshold), reclaims },
      ...observationView(figures.observations.get(threshold.signal)),
    });
    let figures = before;
    const isTried = isOfOrAfter(before, threshold, this.#reclaimedAtMs.get(threshold));
    this.#reclaimedAtMs.delete(threshold);
    const isOfDisk = conditionOf(threshold.signal) === 'DiskPressure';
    if (!isTried && (reclaims.length > 0 || (isOfDisk && this.#components.volumes !== undefined))) {
      const { reclaimTimeoutMs, statsTimeoutMs } = this.#options;
      await Promise.all([
        reclaim(reclaims, { ...this.#components, timeoutMs: reclaimTimeoutMs }, signal),
        isOfDisk && measureVolumes({ ...this.#components, timeoutMs: statsTimeoutMs }, signal),
      ]);
      const reclaimedAtMs = clock.now();
      const after = await this.#statistics.take(signal);
      if (after !== undefined) this.#seeMeanwhile(after);
      if (after === undefined || !isOfOrAfter(after, threshold, reclaimedAtMs)) {
        // Nothing is known of what is left: pods stay until it is.
        this.#reclaimedAtMs.set(threshold, reclaimedAtMs);
        this.#decisions.add({ ...told(before), outcome: 'unknown', ranked: [] });
        return { outcome: 'unknown', after: before };
      }
      figures = after;
      if (!isMetBy(threshold, after.observations, true)) {
        logger.info({ resource }, 'Eviction manager: able to reduce resource pressure without evicting pods.');
        this.#decisions.add({ ...told(after), outcome: 'reclaimed', ranked: [] });
        return { outcome: 'reclaimed', after };
      }
    }
    const ranked = rankPods(threshold.signal, this.#components.pods.active(), figures.statsOf, layout);
    const places = ranked.map((place) => rankedView(place, this.#whyNot(place.pod)));
    const victim = ranked.find(({ pod }) => this.#whyNot(pod) === undefined);
    if (victim === undefined) {
      logger.error({ resource }, 'Eviction manager: unable to evict any pods from the node');
      this.#decisions.add({ ...told(figures), outcome: 'nobody', ranked: places });
      return { outcome: 'nobody', after: figures };
    }
    await this.#evict(victim, threshold, figures, { ...told(figures), outcome: 'evicted', ranked: places }, signal);
    return { outcome: 'evicted', after: figures };
  }

  async #evict(
    { pod }: RankedPod,
    threshold: Threshold,
    { observations, statsOf }: Figures,
    decision: EvictionDecision,
    signal: AbortSignal,
  ): Promise<void> {
    const explained = evictionMessage(pod, statsOf(pod), threshold, observations);
    const { atMs } = observations.get(threshold.signal) ?? {};
    if (atMs !== undefined) {
      const ageMs = Math.max(0, this.#components.clock.now() - atMs);
      this.#age.observe({ eviction_signal: threshold.signal }, ageMs / 1000);
    }
    this.#decisions.add({ ...decision, evicted: pod.metadata.uid, message: explained.message });
    const how = { isDisruption: true, gracePeriodSeconds: gracePeriodSeconds(pod, threshold, this.#options) };
    const cause = { ...explained, signal: threshold.signal, ...how };
    await this.#evictor.end(pod, cause, signal);
    await this.#evictor.gone([pod], signal);
  }

  #whyNot(pod: Pod): 'critical' | 'still ending' | undefined {
    if (this.#components.pods.isCritical(pod)) return 'critical';
    return this.#evictor.isEnding(pod) ? 'still ending' : undefined;
  }

  /** How long until the first grace period under way is over. */
  #graceEndsInMs(): number {
    const nowMs = this.#components.clock.monotonic();
    const rest = [...this.#state.firstMetAt].map(([{ gracePeriodMs }, sinceMs]) => sinceMs + gracePeriodMs - nowMs);
    return Math.min(...rest.filter((ms) => ms > 0));
  }
}

/** Whether figures can know of what was done at an instant of the wall clock. */
function isOfOrAfter({ observations }: Figures, { signal }: Threshold, doneAtMs: number | undefined): boolean {
  const { atMs } = observations.get(signal) ?? {};
  return atMs !== undefined && doneAtMs !== undefined && atMs >= doneAtMs;
}
