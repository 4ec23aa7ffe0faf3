import type { Clock, Random } from '@node-agent/async';
import type { EventRecorder, Logger, Metrics } from '@node-agent/telemetry';
import type { PodCacheReader, PodSyncer } from './types.ts';

/** What `PodWorkers` works with. */
export interface PodWorkersComponents {
  readonly syncer: PodSyncer;
  readonly podCache: PodCacheReader;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly recorder: EventRecorder;
}

/** Settings of `PodWorkers`. */
export interface PodWorkersOptions {
  /** How long after a good step a pod is looked at again, made longer by up to half. Default: 60,000 (`syncFrequency`). */
  readonly resyncIntervalMs?: number;
  /** How long after a failed step it is tried again, made longer by up to half. Default: 10,000. */
  readonly backOffMs?: number;
}
