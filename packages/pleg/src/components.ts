import type { Clock, Random } from '@node-agent/async';
import type { Logger, Metrics } from '@node-agent/telemetry';
import type { PodCache } from './pod-cache.ts';
import type { PlegRuntime } from './types.ts';

/** Dependencies of `Pleg`. */
export interface PlegComponents {
  readonly runtime: PlegRuntime;
  /** The pod cache. `Pleg` must be its only writer. */
  readonly cache: Pick<PodCache, keyof PodCache>;
  /** Default: the system clock. */
  readonly clock?: Clock;
  /** Default: the system's random source. */
  readonly random?: Random;
  /** Default: no logging. */
  readonly logger?: Logger;
  /** Default: no metrics. */
  readonly metrics?: Metrics;
  /** Called when a trusted stream of events was lost: the runtime may have gone. Default: not reported. */
  readonly onStreamLost?: () => void;
}

/** Settings of `Pleg`. */
export interface PlegOptions {
  /**
   * Time from the end of one list of all pods to the start of the next while the runtime's event stream is not trusted.
   * Default: 1,000.
   */
  readonly relistPeriodMs?: number;
  /**
   * Time from the end of one list of all pods to the start of the next while the event stream is trusted; the lists
   * then only repair missed events. Default: 300,000.
   */
  readonly repairPeriodMs?: number;
  /**
   * Time that the runtime may be silent after the next list was due before `healthy()` reports an error. Default:
   * 180,000.
   */
  readonly relistThresholdMs?: number;
  /**
   * Delay between an event that a container or sandbox was created, started or deleted and the read of its pod, unless
   * the pod is read earlier. After it has started a pod's containers, the kubelet calls `hint`, which reads the pod
   * earlier. For events that a container or sandbox stopped, the pod is read without delay. Default: 1,000, the longest
   * delay that upstream has.
   */
  readonly settleMs?: number;
  /** Maximum number of pods that are read concurrently. Default: 10. */
  readonly maxConcurrentReads?: number;
}
