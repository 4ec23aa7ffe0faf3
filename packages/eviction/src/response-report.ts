import type { Clock } from '@node-agent/async';
import type { Pod } from '@node-agent/pod-spec';
import { type EventRecorder, eventReasons, type Logger, type ObjectReference } from '@node-agent/telemetry';
import { type Decisions, type EvictionDecision, observationView, type RankedPodView } from './decisions.ts';
import type { Reclaim } from './disk-layout.ts';
import { resourceOf } from './signals.ts';
import type { StatsSnapshot } from './stats-reader.ts';
import { formatThreshold, type Threshold } from './threshold.ts';

interface Components {
  readonly clock: Pick<Clock, 'now'>;
  readonly logger: Logger;
  readonly recorder: EventRecorder;
  readonly decisions: Decisions;
}

/** Facts about the response to a threshold that reports contain. */
export interface ReportedResponse {
  readonly threshold: Threshold;
  /** Kinds of resources that may be removed. */
  readonly kinds: readonly Reclaim[];
  readonly stats: StatsSnapshot;
}

/** Reports responses to thresholds in logs, events and the decisions of `explain`. */
export class ResponseReport {
  readonly #components: Components;
  readonly #nodeRef: ObjectReference;

  constructor(components: Components, { nodeRef }: { readonly nodeRef: ObjectReference }) {
    this.#components = components;
    this.#nodeRef = nodeRef;
  }

  started(threshold: Threshold): void {
    const { logger, recorder } = this.#components;
    const resource = resourceOf(threshold.signal);
    logger.info({ resource, threshold: formatThreshold(threshold) }, 'Eviction manager: attempting to reclaim');
    const text = `Attempting to reclaim ${resource}`;
    recorder.event(this.#nodeRef, 'Warning', eventReasons.evictionThresholdMet, text);
  }

  /** Reports that no stats show the effect of a removal yet, so no pod is evicted until they do. */
  awaitsStats(response: ReportedResponse): void {
    this.#add(response, { outcome: 'unknown' });
  }

  /**
   * Reports that neither images are removed nor pods evicted until all pods are known. Images must be removed before
   * pods are evicted, but while not all pods are known, needed images may look unused.
   */
  awaitsPods(response: ReportedResponse): void {
    const resource = resourceOf(response.threshold.signal);
    const message = 'Eviction manager: keeping unused images and pods until all pod sources are ready';
    this.#components.logger.info({ resource }, message);
    this.#add(response, { outcome: 'waiting' });
  }

  reclaimed(response: ReportedResponse): void {
    const resource = resourceOf(response.threshold.signal);
    const message = 'Eviction manager: able to reduce resource pressure without evicting pods.';
    this.#components.logger.info({ resource }, message);
    this.#add(response, { outcome: 'reclaimed' });
  }

  noCandidate(response: ReportedResponse, ranked: readonly RankedPodView[]): void {
    const resource = resourceOf(response.threshold.signal);
    this.#components.logger.error({ resource }, 'Eviction manager: unable to evict any pods from the node');
    this.#add(response, { outcome: 'noCandidate', ranked });
  }

  evicted(response: ReportedResponse, ranked: readonly RankedPodView[], pod: Pod, message: string): void {
    this.#add(response, { outcome: 'evicted', ranked, evicted: pod.metadata.uid, message });
  }

  #add(
    { threshold, kinds, stats }: ReportedResponse,
    decision: Pick<EvictionDecision, 'outcome' | 'evicted' | 'message'> & Partial<Pick<EvictionDecision, 'ranked'>>,
  ): void {
    this.#components.decisions.add({
      atMs: this.#components.clock.now(),
      cause: formatThreshold(threshold),
      reclaims: kinds,
      ...observationView(stats.observations.get(threshold.signal)),
      ranked: [],
      ...decision,
    });
  }
}
