import type { Clock } from '@node-agent/async';
import type { EventRecorder, Histogram, Logger, Metrics } from '@node-agent/telemetry';
import type { BackgroundWork } from './background-work.ts';
import { type Decisions, type RankedPodView, rankedView } from './decisions.ts';
import { type DiskLayout, type Reclaim, reclaimsOf } from './disk-layout.ts';
import { type DiskSettling, isDiskThreshold } from './disk-settling.ts';
import type { Evictor } from './evictor.ts';
import { gracePeriodSeconds, IMMEDIATE_GRACE_SECONDS } from './grace-period.ts';
import { laneOf } from './lanes.ts';
import { evictionMessage } from './messages.ts';
import type { EvictionOptions } from './options.ts';
import type { EvictionDiskUsage, EvictionPods, EvictionReclaim } from './ports.ts';
import { isMetBy } from './pressure.ts';
import { type RankedPod, rankPods } from './rank.ts';
import { measureDiskUsage, reclaim } from './reclaim.ts';
import { isRemovalDue, type Removal, showsEffect } from './removal.ts';
import { ResponseReport } from './response-report.ts';
import {
  type FinalAction,
  type LoopStep,
  nextResponse,
  type ResponseEvent,
  type WorkAction,
} from './response-state.ts';
import { isSignal } from './signals.ts';
import type { StatsReader, StatsSnapshot } from './stats-reader.ts';
import { isHard, type Threshold } from './threshold.ts';

interface Components {
  readonly pods: EvictionPods;
  readonly reclaim: EvictionReclaim;
  readonly diskUsage?: EvictionDiskUsage;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly recorder: EventRecorder;
  readonly statsReader: Pick<StatsReader, 'read'>;
  readonly evictor: Evictor;
  readonly settling: DiskSettling;
  readonly background: Pick<BackgroundWork, 'run'>;
  readonly decisions: Decisions;
  /** Receives the additional stats that are read during a response. */
  readonly onStats: (stats: StatsSnapshot) => void;
}

type Options = Pick<
  Required<EvictionOptions>,
  'nodeRef' | 'maxPodGracePeriodSeconds' | 'reclaimTimeoutMs' | 'statsTimeoutMs'
>;

/** A threshold that a round of the control loop responds to. */
export interface ResponseRequest {
  readonly threshold: Threshold;
  /** All thresholds that require a response in this round. */
  readonly actionable: readonly Threshold[];
  /** Newest stats of the round. */
  readonly stats: StatsSnapshot;
  /** Whether the newest stats meet the threshold. */
  readonly isMet: boolean;
  /** Whether the threshold's lane has work in progress. */
  readonly isLaneBusy: boolean;
  readonly layout: DiskLayout;
}

/** Result of a response, with the newest stats of the node. */
export interface ThresholdResponse {
  readonly loop: LoopStep;
  readonly stats: StatsSnapshot;
}

/** Data of the response to one threshold; {@link nextResponse} computes its state. */
interface Attempt extends Pick<ResponseRequest, 'threshold' | 'actionable' | 'layout'> {
  /** Newest stats. */
  stats: StatsSnapshot;
  /** Earlier stats, for the fill rate of a disk. */
  before: StatsSnapshot | undefined;
  /** Kinds of resources that may be removed. */
  kinds: readonly Reclaim[];
  /** Whether images are kept because not all pods are known. */
  keepsImages: boolean;
  ranked: readonly RankedPod[];
}

/**
 * Responds to one met threshold: removes dead containers and unused images and, if this does not free enough, evicts
 * one pod (N2; `reclaimNodeLevelResources` and `evictPod` of `pkg/kubelet/eviction/eviction_manager.go`). {@link
 * nextResponse} makes the decisions; this class performs the actions. Long work runs in the background of the control
 * loop. Metric: `kubelet_eviction_stats_age_seconds{eviction_signal}`.
 */
export class ThresholdResponder {
  readonly #components: Components;
  #options: Options;
  readonly #report: ResponseReport;
  readonly #age: Histogram<'eviction_signal'>;
  /** Removals of thresholds in state `removed`, whose effect no stats have shown yet. */
  readonly #removals = new Map<Threshold, Removal>();

  constructor(components: Components, options: Options) {
    this.#components = components;
    this.#options = options;
    this.#report = new ResponseReport(components, options);
    this.#age = components.metrics.histogram({
      name: 'kubelet_eviction_stats_age_seconds',
      help: 'Age of the stats that a pod was evicted for, in seconds, by eviction signal.',
      labels: ['eviction_signal'],
    });
  }

  /** Changes the maximum grace period of pods that are evicted from now on. */
  setMaxPodGracePeriod(maxPodGracePeriodSeconds: number): void {
    this.#options = { ...this.#options, maxPodGracePeriodSeconds };
  }

  /** Responds to one threshold. @throws the signal's reason */
  async respond(request: ResponseRequest, signal: AbortSignal): Promise<ThresholdResponse> {
    const { threshold, actionable, layout, stats, isMet, isLaneBusy } = request;
    const facts = { before: undefined, kinds: [], keepsImages: false, ranked: [] };
    const attempt: Attempt = { threshold, actionable, layout, stats, ...facts };
    const state = isLaneBusy ? 'working' : this.#removals.has(threshold) ? 'removed' : 'met';
    let next = nextResponse(state, { type: 'round', isMet });
    while (next.loop === undefined) {
      next = nextResponse(next.state, await this.#perform(next.action, attempt, signal));
    }
    this.#finish(next.action, attempt, signal);
    return { loop: next.loop, stats: attempt.stats };
  }

  /**
   * Processes newer stats of the node: records removals that turn out to have been sufficient.
   * @param met the thresholds that these stats meet, whether or not their grace period has passed
   */
  onStats(stats: StatsSnapshot, met: readonly Threshold[]): void {
    this.#components.settling.onStats(stats, met);
    for (const [threshold, removal] of this.#removals) {
      // A threshold that is still met is assessed when the round reaches it.
      if (!showsEffect(removal, threshold, stats) || isMetBy(threshold, stats.observations, true)) continue;
      this.#removals.delete(threshold);
      this.#report.reclaimed({ threshold, kinds: removal.kinds, stats });
    }
  }

  async #perform(action: WorkAction, attempt: Attempt, signal: AbortSignal): Promise<ResponseEvent> {
    const lane = laneOf(attempt.threshold.signal);
    const { background } = this.#components;
    switch (action) {
      case 'assess':
        return this.#assess(attempt);
      case 'reclaim': {
        const hasEnded = await background.run(lane, () => this.#reclaim(attempt, signal), signal);
        return { type: hasEnded ? 'removalEnded' : 'checkDue' };
      }
      case 'measure':
        return await this.#measure(attempt, signal);
      case 'checkChoice':
        return this.#checkChoice(attempt);
      case 'rank':
        return this.#rank(attempt);
      case 'evict': {
        const hasEnded = await background.run(lane, () => this.#evict(attempt, signal), signal);
        return { type: hasEnded ? 'evictionEnded' : 'checkDue' };
      }
    }
  }

  #finish(action: FinalAction, attempt: Attempt, signal: AbortSignal): void {
    const { threshold, ranked } = attempt;
    switch (action) {
      case 'shortenGracePeriod': {
        // The evictions in this lane may have started while the shortage was less urgent.
        const lane = laneOf(threshold.signal);
        const isInLane = (cause: string): boolean => isSignal(cause) && laneOf(cause) === lane;
        this.#shortenGracePeriod(threshold, (cause) => isInLane(cause.signal), signal);
        return;
      }
      case 'joinEviction': {
        // The pod is being evicted for a disk threshold or its own storage limit. The termination of that pod will also
        // relieve this shortage.
        const first = this.#firstCandidate(ranked);
        this.#shortenGracePeriod(threshold, (_cause, pod) => pod.metadata.uid === first?.pod.metadata.uid, signal);
        return;
      }
      case 'awaitStats':
        this.#report.awaitsStats(attempt);
        return;
      case 'awaitPods':
        this.#report.awaitsPods(attempt);
        return;
      case 'reportReclaimed':
        this.#report.reclaimed(attempt);
        return;
      case 'reportNoCandidate':
        this.#report.noCandidate(attempt, this.#places(ranked));
        return;
    }
  }

  /** Decides whether to wait for disk space, to remove unused resources, or to evict a pod. */
  #assess(attempt: Attempt): ResponseEvent {
    const { threshold, layout, stats } = attempt;
    const { settling, pods, diskUsage } = this.#components;
    const earlier = settling.record(threshold, stats);
    attempt.before = earlier ?? stats;
    if (settling.maySettle(threshold, earlier, stats)) {
      // When the settling time has passed, unused resources must be removed once more before a pod is evicted.
      this.#removals.delete(threshold);
      return { type: 'assessed', maySettle: true, isRemovalDue: false };
    }
    this.#report.started(threshold);
    const all = reclaimsOf(threshold.signal, layout);
    attempt.kinds = (pods.areKnown?.() ?? true) ? all : all.filter((kind) => kind !== 'images');
    attempt.keepsImages = attempt.kinds.length < all.length;
    const last = this.#removals.get(threshold);
    this.#removals.delete(threshold);
    const shown = last !== undefined && showsEffect(last, threshold, stats) ? last.kinds : undefined;
    const measuresUsage = isDiskThreshold(threshold) && diskUsage !== undefined;
    return { type: 'assessed', maySettle: false, isRemovalDue: isRemovalDue(attempt.kinds, shown, measuresUsage) };
  }

  async #reclaim({ threshold, kinds }: Attempt, signal: AbortSignal): Promise<void> {
    const { reclaimTimeoutMs, statsTimeoutMs } = this.#options;
    const [mayFree] = await Promise.all([
      reclaim(kinds, { ...this.#components, timeoutMs: reclaimTimeoutMs }, signal),
      isDiskThreshold(threshold) && measureDiskUsage({ ...this.#components, timeoutMs: statsTimeoutMs }, signal),
    ]);
    this.#removals.set(threshold, { endedAtMs: this.#components.clock.now(), kinds });
    this.#components.settling.removalEnded(mayFree);
  }

  /** Reads stats that show the effect of a removal. */
  async #measure(attempt: Attempt, signal: AbortSignal): Promise<ResponseEvent> {
    const { statsReader, onStats } = this.#components;
    const { threshold } = attempt;
    const after = await statsReader.read(signal);
    if (after !== undefined) onStats(after);
    const removal = this.#removals.get(threshold);
    if (after === undefined || removal === undefined || !showsEffect(removal, threshold, after)) {
      return { type: 'measured', shows: 'nothing' };
    }
    this.#removals.delete(threshold);
    attempt.stats = after;
    return { type: 'measured', shows: isMetBy(threshold, after.observations, true) ? 'met' : 'unmet' };
  }

  #checkChoice({ threshold, before, stats, keepsImages }: Attempt): ResponseEvent {
    if (keepsImages) return { type: 'choiceChecked', keepsImages, maySettle: false };
    const { settling } = this.#components;
    settling.record(threshold, stats);
    return { type: 'choiceChecked', keepsImages, maySettle: settling.maySettle(threshold, before, stats) };
  }

  #rank(attempt: Attempt): ResponseEvent {
    const { threshold, stats, layout } = attempt;
    const { pods, evictor } = this.#components;
    attempt.ranked = rankPods(threshold.signal, pods.active(), stats.statsOf, layout);
    const first = this.#firstCandidate(attempt.ranked);
    if (first !== undefined && evictor.isBeingEvicted(first.pod)) return { type: 'ranked', candidate: 'beingEvicted' };
    return { type: 'ranked', candidate: this.#victim(attempt.ranked) === undefined ? 'none' : 'found' };
  }

  /** Evicts the first pod that may be evicted. */
  async #evict(attempt: Attempt, signal: AbortSignal): Promise<void> {
    const { threshold, actionable, stats, ranked } = attempt;
    const { evictor, settling } = this.#components;
    const victim = this.#victim(ranked);
    if (victim === undefined) return;
    const { pod } = victim;
    this.#observeAges(actionable, stats);
    const explained = evictionMessage(pod, stats.statsOf(pod), threshold, stats.observations);
    this.#report.evicted(attempt, this.#places(ranked), pod, explained.message);
    const how = { isDisruption: true, gracePeriodSeconds: gracePeriodSeconds(pod, threshold, this.#options) };
    await evictor.evict(pod, { ...explained, signal: threshold.signal, ...how }, signal);
    await evictor.waitUntilGone([pod], signal);
    if (isDiskThreshold(threshold)) settling.podsGone();
  }

  /** Shortens the grace period of pods that are being evicted, if the threshold is hard. */
  #shortenGracePeriod(
    threshold: Threshold,
    isAffected: Parameters<Evictor['shortenGracePeriod']>[0],
    signal: AbortSignal,
  ): void {
    if (isHard(threshold)) this.#components.evictor.shortenGracePeriod(isAffected, IMMEDIATE_GRACE_SECONDS, signal);
  }

  /**
   * Observes the stats age of all signals that require a response, as upstream does, not only of the signal that the
   * pod is evicted for.
   */
  #observeAges(actionable: readonly Threshold[], { observations }: StatsSnapshot): void {
    for (const { signal } of actionable) {
      const { atMs } = observations.get(signal) ?? {};
      if (atMs === undefined) continue;
      this.#age.observe({ eviction_signal: signal }, Math.max(0, this.#components.clock.now() - atMs) / 1000);
    }
  }

  #places(ranked: readonly RankedPod[]): readonly RankedPodView[] {
    return ranked.map((place) => rankedView(place, this.#exclusion(place)));
  }

  /** Returns the first pod that is not critical, even if it is already terminating. */
  #firstCandidate(ranked: readonly RankedPod[]): RankedPod | undefined {
    return ranked.find(({ pod }) => !this.#components.pods.isCritical(pod));
  }

  /** Returns the first pod that may be evicted. */
  #victim(ranked: readonly RankedPod[]): RankedPod | undefined {
    return ranked.find((place) => this.#exclusion(place) === undefined);
  }

  /** Returns why a pod is not evicted; `undefined` if it may be evicted. */
  #exclusion({ pod }: RankedPod): 'critical' | 'terminating' | undefined {
    if (this.#components.pods.isCritical(pod)) return 'critical';
    return this.#components.evictor.isTerminating(pod) ? 'terminating' : undefined;
  }
}
