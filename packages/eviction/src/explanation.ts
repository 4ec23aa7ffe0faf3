import type { EvictionDecision } from './decisions.ts';
import type { PressureCondition } from './signals.ts';

/** The node's pressure conditions. */
export interface Pressure {
  readonly memory: boolean;
  readonly disk: boolean;
  readonly pid: boolean;
}

/** Observed state and latest decisions of the eviction manager. */
export interface EvictionExplanation {
  readonly conditions: readonly PressureCondition[];
  readonly thresholds: readonly {
    readonly threshold: string;
    readonly available?: string;
    readonly capacity?: string;
    readonly met: boolean;
    /** Time since the threshold was first met, in ms. */
    readonly metForMs?: number;
  }[];
  /** Reason why the manager cannot act. */
  readonly problem?: string;
  /** Latest decisions, newest last. */
  readonly decisions: readonly EvictionDecision[];
}
