import type { Clock } from '@node-agent/async';
import type { Pod } from '@node-agent/pod-spec';
import { type EventRecorder, eventReasons, type Histogram, type Logger, type Metrics } from '@node-agent/telemetry';
import { type Aside, laneOf } from './aside.ts';
import { type Decisions, type EvictionDecision, observationView, rankedView } from './decisions.ts';
import { type DiskLayout, type Reclaim, reclaimsOf } from './disk-layout.ts';
import type { Evictor } from './evictor.ts';
import { gracePeriodSeconds, IMMEDIATE_GRACE_SECONDS } from './grace-period.ts';
import { evictionMessage } from './messages.ts';
import type { EvictionOptions } from './options.ts';
import type { EvictionDiskUsage, EvictionPods, EvictionReclaim } from './ports.ts';
import { isMetBy } from './pressure.ts';
import { type RankedPod, rankPods } from './rank.ts';
import { measureDiskUsage, reclaim } from './reclaim.ts';
import { maySettle, SETTLING_MS } from './settling.ts';
import { isSignal, resourceOf } from './signals.ts';
import type { Figures, Statistics } from './statistics.ts';
import { formatThreshold, isHard, type Threshold } from './threshold.ts';

interface Components {
  readonly pods: EvictionPods;
  readonly reclaim: EvictionReclaim;
  readonly diskUsage?: EvictionDiskUsage;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly recorder: EventRecorder;
  readonly statistics: Pick<Statistics, 'take'>;
  readonly evictor: Evictor;
  /** Runs all long work in the background of the control loop. */
  readonly aside: Aside;
  readonly decisions: Decisions;
  /** Receives the additional stats that are read during a reaction. */
  readonly seen: (figures: Figures) => void;
}

type Options = Pick<
  Required<EvictionOptions>,
  'nodeRef' | 'maxPodGracePeriodSeconds' | 'reclaimTimeoutMs' | 'statsTimeoutMs'
>;

/** Result of a reaction, with the newest stats of the node. */
export interface Relieved {
  /**
   * `under way`: the work continues in the background and a later check handles its result. `settling`: removed data
   * may not be free yet. `going`: the pod that would be evicted is already being evicted.
   */
  readonly outcome: EvictionDecision['outcome'] | 'under way' | 'settling' | 'going';
  readonly after: Figures;
}

/** A finished removal. */
interface Reclaimed {
  /** Wall-clock time of the end of the removal. */
  readonly atMs: number;
  readonly reclaims: readonly Reclaim[];
}

/**
 * Responds to one met threshold: removes unused resources and, if that is not enough, evicts one pod (N2;
 * `reclaimNodeLevelResources` and `evictPod` of `pkg/kubelet/eviction/eviction_manager.go`). Both run in the background
 * of the control loop.
 * Metric: `kubelet_eviction_stats_age_seconds{eviction_signal}`.
 */
export class ThresholdResponder {
  readonly #components: Components;
  readonly #options: Options;
  readonly #age: Histogram<'eviction_signal'>;
  /** Removals whose effect no stats have shown yet. */
  readonly #reclaimed = new Map<Threshold, Reclaimed>();
  /** Last stats of each disk that is short; `undefined` if they must not be used to compute a fill rate. */
  readonly #looks = new Map<Threshold, Figures | undefined>();
  /**
   * Whether containers were removed, or have stopped, since a disk is short. The runtime frees their disk space some
   * time after the removal.
   */
  #mayFree = false;
  /** Monotonic time since when disk space may become free. */
  #freeingSinceMs: number | undefined;

  constructor(components: Components, options: Options) {
    this.#components = components;
    this.#options = options;
    this.#age = components.metrics.histogram({
      name: 'kubelet_eviction_stats_age_seconds',
      help: 'Age of the stats that a pod was evicted for, in seconds, by eviction signal.',
      labels: ['eviction_signal'],
    });
  }

  /**
   * Responds to one threshold.
   * @param actionable all thresholds that require a reaction, including this one
   * @param before the stats that show them
   * @throws the signal's reason
   */
  async relieve(
    threshold: Threshold,
    actionable: readonly Threshold[],
    before: Figures,
    layout: DiskLayout,
    signal: AbortSignal,
  ): Promise<Relieved> {
    const { recorder, logger, decisions, aside } = this.#components;
    const earlier = this.#looks.get(threshold);
    if (isOfDisk(threshold)) this.#looks.set(threshold, before);
    if (this.#isSettling(threshold, earlier, before)) {
      // The last removal and measurement will be out of date when the settling time has passed.
      this.#reclaimed.delete(threshold);
      return { outcome: 'settling', after: before };
    }
    const resource = resourceOf(threshold.signal);
    logger.info({ resource, threshold: formatThreshold(threshold) }, 'Eviction manager: attempting to reclaim');
    const text = `Attempting to reclaim ${resource}`;
    recorder.event(this.#options.nodeRef, 'Warning', eventReasons.evictionThresholdMet, text);
    const all = reclaimsOf(threshold.signal, layout);
    const reclaims = this.#arePodsKnown() ? all : all.filter((what) => what !== 'images');
    let figures = before;
    if (this.#isToReclaim(threshold, before, reclaims)) {
      const hasEnded = await aside.run(
        laneOf(threshold.signal),
        () => this.#reclaim(threshold, reclaims, signal),
        signal,
      );
      if (!hasEnded) return { outcome: 'under way', after: before };
      const after = await this.#look(threshold, signal);
      if (after === undefined) {
        // The effect of the removal is unknown, so no pod is evicted until stats are available.
        decisions.add({ ...this.#facts(threshold, reclaims, before), outcome: 'unknown', ranked: [] });
        return { outcome: 'unknown', after: before };
      }
      if (!isMetBy(threshold, after.observations, true)) {
        this.#tellReclaimed(threshold, reclaims, after);
        return { outcome: 'reclaimed', after };
      }
      figures = after;
    }
    if (reclaims.length < all.length) {
      // Images must be removed before pods are evicted, but while not all pods are known, needed images may look
      // unused.
      logger.info({ resource }, 'Eviction manager: keeping unused images and pods until all pod sources are ready');
      decisions.add({ ...this.#facts(threshold, reclaims, figures), outcome: 'waiting', ranked: [] });
      return { outcome: 'waiting', after: figures };
    }
    if (isOfDisk(threshold)) this.#looks.set(threshold, figures);
    if (this.#isSettling(threshold, earlier ?? before, figures)) return { outcome: 'settling', after: figures };
    const ranked = rankPods(threshold.signal, this.#components.pods.active(), figures.statsOf, layout);
    const first = ranked.find(({ pod }) => !this.#components.pods.isCritical(pod));
    // The pod is already being evicted, for a disk threshold or its own storage limit. Its termination will also
    // relieve this shortage.
    if (first !== undefined && this.#components.evictor.isGoing(first.pod)) {
      this.#hurry(threshold, (_cause, pod) => pod.metadata.uid === first.pod.metadata.uid, signal);
      return { outcome: 'going', after: figures };
    }
    const places = ranked.map((place) => rankedView(place, this.#whyNot(place.pod)));
    const victim = ranked.find(({ pod }) => this.#whyNot(pod) === undefined);
    const decision = { ...this.#facts(threshold, reclaims, figures), ranked: places };
    if (victim === undefined) {
      logger.error({ resource }, 'Eviction manager: unable to evict any pods from the node');
      decisions.add({ ...decision, outcome: 'nobody' });
      return { outcome: 'nobody', after: figures };
    }
    this.#observeAges(actionable, figures);
    const evict = (): Promise<void> =>
      this.#evict(victim, threshold, figures, { ...decision, outcome: 'evicted' }, signal);
    const hasEnded = await aside.run(laneOf(threshold.signal), evict, signal);
    return { outcome: hasEnded ? 'evicted' : 'under way', after: figures };
  }

  /**
   * Shortens the grace period of pods that are being evicted in this threshold's lane, if the threshold is hard. Their
   * evictions may have started while the shortage was less urgent.
   */
  hurry(threshold: Threshold, signal: AbortSignal): void {
    const lane = laneOf(threshold.signal);
    this.#hurry(threshold, (cause) => isSignal(cause.signal) && laneOf(cause.signal) === lane, signal);
  }

  #hurry(threshold: Threshold, isMeant: Parameters<Evictor['hurry']>[0], signal: AbortSignal): void {
    if (isHard(threshold)) this.#components.evictor.hurry(isMeant, IMMEDIATE_GRACE_SECONDS, signal);
  }

  /**
   * Returns whether a removal is due. No removal is due if these stats are the first that show the effect of the last
   * removal and the last removal covered the same kinds.
   */
  #isToReclaim(threshold: Threshold, figures: Figures, reclaims: readonly Reclaim[]): boolean {
    const last = this.#reclaimed.get(threshold);
    this.#reclaimed.delete(threshold);
    const isTried =
      isOfOrAfter(figures, threshold, last?.atMs) && reclaims.every((what) => last?.reclaims.includes(what));
    const hasUsage = isOfDisk(threshold) && this.#components.diskUsage !== undefined;
    return !isTried && (reclaims.length > 0 || hasUsage);
  }

  /**
   * Returns whether removed data, including the files of the last evicted pod, may still become free; until then no pod
   * is chosen for a disk (N2).
   */
  #isSettling(threshold: Threshold, before: Figures | undefined, now: Figures): boolean {
    if (!isOfDisk(threshold)) return false;
    const sinceMs = this.#freeingSinceMs;
    if (sinceMs === undefined || this.#components.clock.monotonic() - sinceMs >= SETTLING_MS) return false;
    const [then, last] = [before, now].map((figures) => figures?.observations.get(threshold.signal));
    return then === undefined || last === undefined || maySettle(then, last);
  }

  async #reclaim(threshold: Threshold, reclaims: readonly Reclaim[], signal: AbortSignal): Promise<void> {
    const { reclaimTimeoutMs, statsTimeoutMs } = this.#options;
    const [mayFree] = await Promise.all([
      reclaim(reclaims, { ...this.#components, timeoutMs: reclaimTimeoutMs }, signal),
      isOfDisk(threshold) && measureDiskUsage({ ...this.#components, timeoutMs: statsTimeoutMs }, signal),
    ]);
    const { clock } = this.#components;
    this.#reclaimed.set(threshold, { atMs: clock.now(), reclaims });
    this.#mayFree ||= mayFree;
    if (this.#mayFree) this.#freeingSinceMs ??= clock.monotonic();
  }

  /** @returns stats that show the effect of a removal; `undefined` if there are none yet */
  async #look(threshold: Threshold, signal: AbortSignal): Promise<Figures | undefined> {
    const { statistics, seen } = this.#components;
    const after = await statistics.take(signal);
    if (after !== undefined) seen(after);
    if (after === undefined || !isOfOrAfter(after, threshold, this.#reclaimed.get(threshold)?.atMs)) return undefined;
    this.#reclaimed.delete(threshold);
    return after;
  }

  /**
   * Processes newer stats of the node: records removals that turn out to have been sufficient.
   * @param met the thresholds that these stats meet, whether or not their grace period has passed
   */
  settle(figures: Figures, met: readonly Threshold[]): void {
    for (const threshold of this.#looks.keys()) {
      // A disk without values keeps its state.
      const isTold = figures.observations.has(threshold.signal);
      if (isTold && !isMetBy(threshold, figures.observations, true)) this.#looks.delete(threshold);
    }
    if (this.#looks.size === 0 && !met.some(isOfDisk)) this.#frees(false);
    for (const [threshold, { atMs, reclaims }] of this.#reclaimed) {
      if (!isOfOrAfter(figures, threshold, atMs) || isMetBy(threshold, figures.observations, true)) continue;
      this.#reclaimed.delete(threshold);
      this.#tellReclaimed(threshold, reclaims, figures);
    }
  }

  #tellReclaimed(threshold: Threshold, reclaims: readonly Reclaim[], figures: Figures): void {
    const { logger, decisions } = this.#components;
    const resource = resourceOf(threshold.signal);
    logger.info({ resource }, 'Eviction manager: able to reduce resource pressure without evicting pods.');
    decisions.add({ ...this.#facts(threshold, reclaims, figures), outcome: 'reclaimed', ranked: [] });
  }

  #facts(
    threshold: Threshold,
    reclaims: readonly Reclaim[],
    { observations }: Figures,
  ): Pick<EvictionDecision, 'cause' | 'reclaims' | 'atMs' | 'available' | 'capacity'> {
    const atMs = this.#components.clock.now();
    return {
      atMs,
      cause: formatThreshold(threshold),
      reclaims,
      ...observationView(observations.get(threshold.signal)),
    };
  }

  async #evict(
    { pod }: RankedPod,
    threshold: Threshold,
    { observations, statsOf }: Figures,
    decision: EvictionDecision,
    signal: AbortSignal,
  ): Promise<void> {
    const { decisions, evictor } = this.#components;
    const explained = evictionMessage(pod, statsOf(pod), threshold, observations);
    decisions.add({ ...decision, evicted: pod.metadata.uid, message: explained.message });
    const how = { isDisruption: true, gracePeriodSeconds: gracePeriodSeconds(pod, threshold, this.#options) };
    await evictor.end(pod, { ...explained, signal: threshold.signal, ...how }, signal);
    await evictor.gone([pod], signal);
    if (isOfDisk(threshold)) this.podsEnded();
  }

  /**
   * Records that pods which wrote to disks are gone. The fill rates measured so far do not apply to the remaining pods.
   */
  podsEnded(): void {
    this.#frees(true);
    for (const threshold of this.#looks.keys()) this.#looks.set(threshold, undefined);
  }

  /** Resets the settling state. @param mayFree whether the next removal may free disk space */
  #frees(mayFree: boolean): void {
    this.#mayFree = mayFree;
    this.#freeingSinceMs = undefined;
  }

  /**
   * Observes the stats age of all signals that require a reaction, as upstream does, not only of the signal that the
   * pod is evicted for.
   */
  #observeAges(actionable: readonly Threshold[], { observations }: Figures): void {
    for (const { signal } of actionable) {
      const { atMs } = observations.get(signal) ?? {};
      if (atMs === undefined) continue;
      this.#age.observe({ eviction_signal: signal }, Math.max(0, this.#components.clock.now() - atMs) / 1000);
    }
  }

  #arePodsKnown(): boolean {
    return this.#components.pods.areKnown?.() ?? true;
  }

  #whyNot(pod: Pod): 'critical' | 'still ending' | undefined {
    if (this.#components.pods.isCritical(pod)) return 'critical';
    return this.#components.evictor.isEnding(pod) ? 'still ending' : undefined;
  }
}

function isOfDisk({ signal }: Threshold): boolean {
  return laneOf(signal) === 'disk';
}

/** Returns whether the stats are at least as new as an action that ended at this wall-clock time. */
function isOfOrAfter({ observations }: Figures, { signal }: Threshold, doneAtMs: number | undefined): boolean {
  const { atMs } = observations.get(signal) ?? {};
  return atMs !== undefined && doneAtMs !== undefined && atMs >= doneAtMs;
}
