import type { Clock, Random } from '@node-agent/async';
import type { EventRecorder, Logger, Metrics } from '@node-agent/telemetry';
import type { PodCacheReader, PodSyncer } from './types.ts';

/** Components that `PodWorkers` requires or accepts. */
export interface PodWorkersComponents {
  readonly syncer: PodSyncer;
  readonly podCache: PodCacheReader;
  /** Default: the system clock. */
  readonly clock?: Clock;
  /** Default: the system's random source. */
  readonly random?: Random;
  /** Default: no logging. */
  readonly logger?: Logger;
  /** Default: metrics are discarded. */
  readonly metrics?: Metrics;
  /** Default: events are discarded. */
  readonly recorder?: EventRecorder;
}

/** Settings of `PodWorkers`. */
export interface PodWorkersOptions {
  /**
   * Time from a successful step to the next periodic sync of the pod, lengthened at random by up to half. Default:
   * 60,000 (`syncFrequency`).
   */
  readonly resyncIntervalMs?: number;
  /** Time from a failed step to its retry, lengthened at random by up to half. Default: 10,000. */
  readonly backOffMs?: number;
  /**
   * Minimum time between the starts of two steps that were caused only by updates of a running pod. The first update is
   * handled immediately; of the updates that follow within this time, only the newest is handled, when the time has
   * passed. Default: 100. Upstream has no such delay.
   */
  readonly updateSpacingMs?: number;
}
