import type { ObjectReference } from '@node-agent/telemetry';
import { EvictionError } from './errors.ts';
import type { Threshold } from './threshold.ts';

/** Options of `EvictionManager`; the defaults are upstream's. */
export interface EvictionOptions {
  /** Reference to the Node object, for node events. */
  readonly nodeRef: ObjectReference;
  /** Thresholds, as returned by `parseThresholds`. */
  readonly thresholds: readonly Threshold[];
  /**
   * Maximum grace period of a pod that is evicted for a soft threshold. If negative, the pod's own grace period
   * applies. Default: 0, which is treated as one second.
   */
  readonly maxPodGracePeriodSeconds?: number;
  /** Time by which a node condition outlasts its cause, in ms. Default: 300,000 (5 min). */
  readonly pressureTransitionMs?: number;
  /** Whether local storage limits are enforced. Default: true. */
  readonly localStorageCapacityIsolation?: boolean;
  /** Period of the node checks, in ms. Default: 10,000. */
  readonly monitoringPeriodMs?: number;
  /** Timeout of a stats request, in ms. Default: 30,000. */
  readonly statsTimeoutMs?: number;
  /** Timeout of each removal of unused containers or images, in ms. Default: 120,000 (2 min). */
  readonly reclaimTimeoutMs?: number;
  /** Maximum wait until an evicted pod's resources are free, in ms. Default: 30,000. */
  readonly podCleanupTimeoutMs?: number;
}

/** Options that {@link EvictionManager.update} changes. */
export type EvictionLimits = Pick<EvictionOptions, 'thresholds' | 'maxPodGracePeriodSeconds' | 'pressureTransitionMs'>;

export function withOptionDefaults(options: EvictionOptions): Required<EvictionOptions> {
  return {
    maxPodGracePeriodSeconds: 0,
    pressureTransitionMs: 300_000,
    localStorageCapacityIsolation: true,
    monitoringPeriodMs: 10_000,
    statsTimeoutMs: 30_000,
    reclaimTimeoutMs: 120_000,
    podCleanupTimeoutMs: 30_000,
    ...options,
  };
}

/**
 * Checks the values of all options. @throws EvictionError `InvalidOptions`, naming the field, if an option is invalid
 */
export function checkValues(options: Required<EvictionOptions>): void {
  const { pressureTransitionMs, monitoringPeriodMs, statsTimeoutMs, podCleanupTimeoutMs, reclaimTimeoutMs } = options;
  const durations = { pressureTransitionMs, monitoringPeriodMs, statsTimeoutMs, podCleanupTimeoutMs, reclaimTimeoutMs };
  for (const [name, value] of Object.entries(durations)) {
    if (typeof value !== 'number') throw invalid(`${name} must be a number, not ${shown(value)}`);
    if (!(value >= 0)) throw invalid(`${name} ${value} must not be negative`);
  }
  if (monitoringPeriodMs === 0) throw invalid('monitoringPeriodMs 0 must be above 0');
  const { maxPodGracePeriodSeconds, localStorageCapacityIsolation, thresholds } = options;
  if (typeof maxPodGracePeriodSeconds !== 'number' || Number.isNaN(maxPodGracePeriodSeconds)) {
    throw invalid(`maxPodGracePeriodSeconds must be a number, not ${shown(maxPodGracePeriodSeconds)}`);
  }
  if (typeof localStorageCapacityIsolation !== 'boolean') {
    throw invalid(`localStorageCapacityIsolation must be true or false, not ${shown(localStorageCapacityIsolation)}`);
  }
  if (!Array.isArray(thresholds)) throw invalid(`thresholds must be a list, not ${shown(thresholds)}`);
}

function invalid(message: string): EvictionError {
  return new EvictionError('InvalidOptions', message);
}

function shown(value: unknown): string {
  return typeof value === 'string' ? JSON.stringify(value) : String(value);
}
