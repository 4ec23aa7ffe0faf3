import type { Clock, Random } from '@node-agent/async';
import type { PodStatus, RestartFeatures } from '@node-agent/pod-spec';
import type { EventRecorder, Logger, Metrics } from '@node-agent/telemetry';
import type { ProbePorts } from './attempt.ts';

/** Components of a `Prober`. */
export interface ProberComponents {
  readonly clock?: Clock;
  /** Source of the random delays that spread the first probes of pods that ran before the prober started. */
  readonly random?: Random;
  readonly logger?: Logger;
  /** Registry for the metrics of upstream's `/metrics/probes`; not the registry of `/metrics`. */
  readonly metrics?: Metrics;
  readonly recorder?: EventRecorder;
  /** Latest status of each pod, which has the IDs and states of its containers. */
  readonly statuses: { getPodStatus(uid: string): PodStatus | undefined };
  readonly ports: ProbePorts;
}

/** Settings of a `Prober`. */
export interface ProberOptions {
  /** Feature gates that affect restarts. Default: all enabled. */
  readonly restartFeatures?: RestartFeatures;
  /** Number of attempts per probe that are kept for `Prober.explain`. Default: 10. */
  readonly historyLength?: number;
  /**
   * Whether a new container that is not ready or started yet is probed more often than once per period during its first
   * ten periods. Failures of these early attempts do not count. Default: true. Exec probes and probes with an initial
   * delay have no early attempts.
   */
  readonly earlyTries?: boolean;
}
