import type { Clock, Random } from '@node-agent/async';
import type { Logger, Metrics } from '@node-agent/telemetry';
import type { PodCache } from './pod-cache.ts';
import type { PlegRuntime } from './types.ts';

/** Dependencies of `Pleg`. */
export interface PlegComponents {
  readonly runtime: PlegRuntime;
  /** The pod cache. `Pleg` must be its only writer. */
  readonly cache: Pick<PodCache, keyof PodCache>;
  /** Clock of timers and observation times. Default: the system clock. */
  readonly clock?: Clock;
  /** Random source of the jitter. Default: the system's random source. */
  readonly random?: Random;
  /** Logger of the PLEG. Default: no logging. */
  readonly logger?: Logger;
  /** Registry of the PLEG's metrics. Default: no metrics. */
  readonly metrics?: Metrics;
  /**
   * Called when an event stream that PLEG relied on was lost, because the runtime may have stopped. Default: not
   * reported.
   */
  readonly onStreamLost?: () => void;
}

/** Settings of `Pleg`. */
export interface PlegOptions {
  /**
   * Time from the end of one list of all pods to the start of the next list, in milliseconds. Applies while PLEG does
   * not rely on the runtime's event stream. Default: 1,000.
   */
  readonly relistPeriodMs?: number;
  /**
   * Time from the end of one list of all pods to the start of the next list, in milliseconds. Applies while PLEG relies
   * on the event stream, so that lists only repair missed events. Default: 300,000.
   */
  readonly repairPeriodMs?: number;
  /**
   * Time without a response of the runtime, after the next list was due, before `healthy()` reports an error. In
   * milliseconds. Default: 180,000.
   */
  readonly relistThresholdMs?: number;
  /**
   * Delay between an event that a container or sandbox was created, started or deleted and the read of its pod, in
   * milliseconds. The pod may be read earlier for another reason: after it has started a pod's containers, the kubelet
   * calls `hint`. After an event that a container or sandbox stopped, the pod is read without delay. Default: 1,000,
   * the longest delay in upstream.
   */
  readonly settleMs?: number;
  /** Maximum number of pods that are read concurrently. Default: 10. */
  readonly maxConcurrentReads?: number;
}
