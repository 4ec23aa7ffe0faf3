import type { Clock, Random } from '@node-agent/async';
import type { Logger, Metrics } from '@node-agent/telemetry';
import type { PodCache } from './pod-cache.ts';
import type { PlegRuntime } from './types.ts';

/** What `Pleg` works with. */
export interface PlegComponents {
  readonly runtime: PlegRuntime;
  /** Nobody else writes to it. */
  readonly cache: Pick<PodCache, keyof PodCache>;
  /** The machine's own where absent. */
  readonly clock?: Clock;
  /** The machine's own where absent. */
  readonly random?: Random;
  /** Silent where absent. */
  readonly logger?: Logger;
  /** Counted nowhere where absent. */
  readonly metrics?: Metrics;
}

/** Settings of `Pleg`. */
export interface PlegOptions {
  /** From the end of one list of all pods to the next, where the runtime's events cannot be relied upon. Default: 1,000. */
  readonly relistPeriodMs?: number;
  /** The same where they can, and lists only repair. Default: 300,000. */
  readonly repairPeriodMs?: number;
  /** How long after the next list was due the runtime may be silent before `healthy()` complains. Default: 180,000. */
  readonly relistThresholdMs?: number;
  /**
   * How long after news that something was made or removed its pod is read, where nobody asks for it before: who starts
   * containers hints when it has started them. News of an end is read at once. Default: 1,000, as long as upstream may take.
   */
  readonly settleMs?: number;
  /** How many pods are read at once. Default: 10. */
  readonly maxConcurrentReads?: number;
}
