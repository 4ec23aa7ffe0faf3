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
  /** Where everything is done that takes its time. */
  readonly aside: Aside;
  readonly decisions: Decisions;
  /** Told of the figures that are asked for on the way. */
  readonly seen: (figures: Figures) => void;
}

type Options = Pick<
  Required<EvictionOptions>,
  'nodeRef' | 'maxPodGracePeriodSeconds' | 'reclaimTimeoutMs' | 'statsTimeoutMs'
>;

/** What came of it, and the newest figures of the node then. */
export interface Relieved {
  /**
   * `under way`: it goes on aside, and what comes of it is for a later look; `settling`: what was removed may not be free yet; `going`:
   * whoever would go is going already.
   */
  readonly outcome: EvictionDecision['outcome'] | 'under way' | 'settling' | 'going';
  readonly after: Figures;
}

/** A removal that is over. */
interface Reclaimed {
  /** By the wall clock. */
  readonly atMs: number;
  readonly reclaims: readonly Reclaim[];
}

/**
 * Does something about one threshold: removes what nobody needs, and where that is not enough evicts one pod (N2;
 * `reclaimNodeLevelResources` and `evictPod` of `pkg/kubelet/eviction/eviction_manager.go`). Both are done aside.
 * Metric: `kubelet_eviction_stats_age_seconds{eviction_signal}`.
 */
export class Relief {
  readonly #components: Components;
  readonly #options: Options;
  readonly #age: Histogram<'eviction_signal'>;
  /** What was removed, where no figures have told yet what came of that. */
  readonly #reclaimed = new Map<Threshold, Reclaimed>();
  /** The last look at each disk that is short; `undefined` where what it tells is over. */
  readonly #looks = new Map<Threshold, Figures | undefined>();
  /** Whether containers were removed, or have ended, since a disk is short: a runtime frees what they wrote some time after their removal. */
  #mayFree = false;
  /** Since when it may, by the monotonic clock. */
  #freeingSinceMs: number | undefined;

  constructor(components: Components, options: Options) {
    this.#components = components;
    this.#options = options;
    this.#age = components.metrics.histogram({
      name: 'kubelet_eviction_stats_age_seconds',
      help: 'How old the statistics were that a pod was evicted for, by signal.',
      labels: ['eviction_signal'],
    });
  }

  /**
   * @param actionable all thresholds for which something is to be done, this one among them
   * @param before by which that is so
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
      // What is removed and measured by now is old when the wait is over.
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
        // Nothing is known of what is left: pods stay until it is.
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
      // Images go before pods, and who wants them is not known yet.
      logger.info({ resource }, 'Eviction manager: unused images and pods stay until all sources of pods have spoken');
      decisions.add({ ...this.#facts(threshold, reclaims, figures), outcome: 'waiting', ranked: [] });
      return { outcome: 'waiting', after: figures };
    }
    if (isOfDisk(threshold)) this.#looks.set(threshold, figures);
    if (this.#isSettling(threshold, earlier ?? before, figures)) return { outcome: 'settling', after: figures };
    const ranked = rankPods(threshold.signal, this.#components.pods.active(), figures.statsOf, layout);
    const first = ranked.find(({ pod }) => !this.#components.pods.isCritical(pod));
    // For a disk, or for a limit of its own: with it goes what is short here.
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

  /** What goes on in the lane of this threshold may have begun when it was not as urgent: who has time to end has little from now on. */
  hurry(threshold: Threshold, signal: AbortSignal): void {
    const lane = laneOf(threshold.signal);
    this.#hurry(threshold, (cause) => isSignal(cause.signal) && laneOf(cause.signal) === lane, signal);
  }

  #hurry(threshold: Threshold, isMeant: Parameters<Evictor['hurry']>[0], signal: AbortSignal): void {
    if (isHard(threshold)) this.#components.evictor.hurry(isMeant, IMMEDIATE_GRACE_SECONDS, signal);
  }

  /** Not again where the figures are those that were missing after the last time, and nothing else may be removed by now. */
  #isToReclaim(threshold: Threshold, figures: Figures, reclaims: readonly Reclaim[]): boolean {
    const last = this.#reclaimed.get(threshold);
    this.#reclaimed.delete(threshold);
    const isTried =
      isOfOrAfter(figures, threshold, last?.atMs) && reclaims.every((what) => last?.reclaims.includes(what));
    const hasUsage = isOfDisk(threshold) && this.#components.diskUsage !== undefined;
    return !isTried && (reclaims.length > 0 || hasUsage);
  }

  /** N2: who goes is not chosen while a disk may still become free of what was removed, the last victim's files among it. */
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

  /** @returns figures of what a removal has left; `undefined` where there are none yet */
  async #look(threshold: Threshold, signal: AbortSignal): Promise<Figures | undefined> {
    const { statistics, seen } = this.#components;
    const after = await statistics.take(signal);
    if (after !== undefined) seen(after);
    if (after === undefined || !isOfOrAfter(after, threshold, this.#reclaimed.get(threshold)?.atMs)) return undefined;
    this.#reclaimed.delete(threshold);
    return after;
  }

  /**
   * Newer figures of the node have come: where a removal was enough, and there were none to tell that, they do.
   * @param met the thresholds that are met by them, grace period over or not
   */
  settle(figures: Figures, met: readonly Threshold[]): void {
    for (const threshold of this.#looks.keys()) {
      // A disk of which nothing is told is as short as it was.
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

  /** Pods are gone that wrote to disks. How fast these were filled until then tells nothing of who is left. */
  podsEnded(): void {
    this.#frees(true);
    for (const threshold of this.#looks.keys()) this.#looks.set(threshold, undefined);
  }

  /** Whatever was removed before does not count any more. @param mayFree whether the next removal may free something */
  #frees(mayFree: boolean): void {
    this.#mayFree = mayFree;
    this.#freeingSinceMs = undefined;
  }

  /** Of all that is short, as upstream does, and not only of what the pod goes for. */
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

/** Whether figures can know of what was done at an instant of the wall clock. */
function isOfOrAfter({ observations }: Figures, { signal }: Threshold, doneAtMs: number | undefined): boolean {
  const { atMs } = observations.get(signal) ?? {};
  return atMs !== undefined && doneAtMs !== undefined && atMs >= doneAtMs;
}
