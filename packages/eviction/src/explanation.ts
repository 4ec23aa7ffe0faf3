import type { EvictionDecision } from './decisions.ts';
import type { PressureCondition } from './signals.ts';

/** What the node is short of. */
export interface Pressure {
  readonly memory: boolean;
  readonly disk: boolean;
  readonly pid: boolean;
}

/** What eviction sees, and what it did. */
export interface EvictionExplanation {
  readonly conditions: readonly PressureCondition[];
  readonly thresholds: readonly {
    readonly threshold: string;
    readonly available?: string;
    readonly capacity?: string;
    readonly met: boolean;
    /** For how long it has been met, in ms. */
    readonly metForMs?: number;
  }[];
  /** What keeps it from acting. */
  readonly problem?: string;
  /** The newest last. */
  readonly decisions: readonly EvictionDecision[];
}
