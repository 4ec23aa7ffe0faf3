import type { ObjectReference } from '@node-agent/telemetry';
import { EvictionError } from './errors.ts';
import type { Threshold } from './threshold.ts';

/** How an `EvictionManager` is set; the defaults are upstream's. */
export interface EvictionOptions {
  /** What events about the node refer to. */
  readonly nodeRef: ObjectReference;
  /** From `parseThresholds`. */
  readonly thresholds: readonly Threshold[];
  /** The longest grace period of a pod that is evicted for a soft threshold; 0 by default, which is a second. Negative: its own. */
  readonly maxPodGracePeriodSeconds?: number;
  /** How long a condition outlasts what made it, in ms; 5 min by default. */
  readonly pressureTransitionMs?: number;
  /** Whether limits of local storage are kept; true by default. */
  readonly localStorageCapacityIsolation?: boolean;
  /** How often the node is looked at, in ms; 10 s by default. */
  readonly monitoringPeriodMs?: number;
  /** How long statistics are waited for, in ms; 30 s by default. */
  readonly statsTimeoutMs?: number;
  /** How long one removal of what nobody needs may take, in ms; 2 min by default. */
  readonly reclaimTimeoutMs?: number;
  /** How long it is waited for what an evicted pod held, in ms; 30 s by default. */
  readonly podCleanupTimeoutMs?: number;
}

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

/** @throws EvictionError `InvalidOptions`, naming the field */
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
