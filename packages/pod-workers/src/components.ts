import type { Clock, Random } from '@node-agent/async';
import type { EventRecorder, Logger, Metrics } from '@node-agent/telemetry';
import type { PodCacheReader, PodSyncer } from './types.ts';

/** What `PodWorkers` works with. */
export interface PodWorkersComponents {
  readonly syncer: PodSyncer;
  readonly podCache: PodCacheReader;
  /** The machine's own where absent. */
  readonly clock?: Clock;
  /** The machine's own where absent. */
  readonly random?: Random;
  /** Silent where absent. */
  readonly logger?: Logger;
  /** Counted nowhere where absent. */
  readonly metrics?: Metrics;
  /** Nobody is told where absent. */
  readonly recorder?: EventRecorder;
}

/** Settings of `PodWorkers`. */
export interface PodWorkersOptions {
  /** How long after a good step a pod is looked at again, made longer by up to half. Default: 60,000 (`syncFrequency`). */
  readonly resyncIntervalMs?: number;
  /** How long after a failed step it is tried again, made longer by up to half. Default: 10,000. */
  readonly backOffMs?: number;
  /**
   * Between the beginnings of two steps that only an update of a pod that goes on has brought. The first update is acted upon at
   * once; of those that follow it faster, the newest is, after so long. Default: 100; upstream has none.
   */
  readonly updateSpacingMs?: number;
}
