import type { Observations } from './observations.ts';
import type { Signal } from './signals.ts';
import { isMet, quantityOf, type Threshold } from './threshold.ts';

/** Value that is cheap to read and shows how a signal has changed since the last stats. */
export interface Gauge {
  readonly signal: Signal;
  /**
   * Returns the available amount in the signal's unit. A constant offset from the real value is allowed, because only
   * changes of the value are used.
   */
  available(signal: AbortSignal): Promise<number>;
  /** Maximum amount by which the value can shrink per second. */
  readonly perSecond: number;
  /** Minimum period between two reads while the value does not shrink, in ms. Default: 100. */
  readonly quietMs?: number;
}

/** Minimum and maximum period between two reads of a gauge, in ms. */
export interface GaugeReadLimits {
  readonly minMs: number;
  readonly maxMs: number;
}

/**
 * Returns the delay until the next read of a gauge: the time in which the headroom above the threshold could be used up
 * at the maximum rate, within the limits.
 */
export function nextGaugeReadMs(headroom: number, perSecond: number, { minMs, maxMs }: GaugeReadLimits): number {
  return Math.min(Math.max((headroom / perSecond) * 1000, minMs), maxMs);
}

/**
 * Returns the delay until the next read of a gauge whose current rate is known. At the observed rate, the gauge is read
 * when half of the headroom is used up. Without an observed rate, the gauge is read when all of the headroom could be
 * used up at the maximum rate.
 */
export function plannedGaugeReadMs(
  headroom: number,
  { perSecond, quietMs = 0 }: Pick<Gauge, 'perSecond' | 'quietMs'>,
  observedPerSecond: number,
  { minMs, maxMs }: GaugeReadLimits,
): number {
  const atMaxRateMs = nextGaugeReadMs(headroom, perSecond, { minMs: Math.max(minMs, quietMs), maxMs });
  return observedPerSecond > 0
    ? Math.min(atMaxRateMs, nextGaugeReadMs(headroom / 2, observedPerSecond, { minMs, maxMs }))
    : atMaxRateMs;
}

/**
 * Returns the amount left above the highest threshold that is not met yet; `undefined` if no threshold is unmet.
 * Thresholds that are already met are checked once per round.
 */
export function headroomOf(
  signal: Signal,
  thresholds: readonly Threshold[],
  observations: Observations,
): number | undefined {
  const observed = observations.get(signal);
  if (observed === undefined) return undefined;
  const above = thresholds
    .filter((threshold) => threshold.signal === signal && !isMet(threshold, observed, false))
    .map(({ value }) => Number(observed.available.sub(quantityOf(value, observed.capacity)).value()));
  return above.length === 0 ? undefined : Math.min(...above);
}
