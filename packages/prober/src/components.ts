import type { Clock, Random } from '@node-agent/async';
import type { PodStatus, RestartFeatures } from '@node-agent/pod-spec';
import type { EventRecorder, Logger, Metrics } from '@node-agent/telemetry';
import type { ProbePorts } from './attempt.ts';

/** What a `Prober` is made of. */
export interface ProberComponents {
  readonly clock?: Clock;
  /** Spreads the first probes of pods that were there before. */
  readonly random?: Random;
  readonly logger?: Logger;
  /** Behind upstream's `/metrics/probes`: a registry of their own. */
  readonly metrics?: Metrics;
  readonly recorder?: EventRecorder;
  /** The newest status of each pod: where its containers are found, by their ids and states. */
  readonly statuses: { getPodStatus(uid: string): PodStatus | undefined };
  readonly ports: ProbePorts;
}

/** The settings of a `Prober`. */
export interface ProberOptions {
  /** Which gates that bear on restarts are on; both where absent. */
  readonly restartFeatures?: RestartFeatures;
  /** How many probes of each are remembered for `Prober.explain`; 10 by default. */
  readonly historyLength?: number;
  /**
   * Whether a container that has begun, and is not ready or started yet, is asked for that more often than every period, during its first
   * ten: what fails then does not count. True by default; never for commands, nor where there is an initial delay.
   */
  readonly earlyTries?: boolean;
}
