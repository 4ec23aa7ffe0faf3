import type { Observations } from './observations.ts';
import type { Signal } from './signals.ts';
import { isMet, quantityOf, type Threshold } from './threshold.ts';

/** A figure that is cheap to read: it tells how a signal has changed since the statistics were asked. */
export interface Gauge {
  readonly signal: Signal;
  /** How much is left, in the unit of the signal. What it leaves out does not matter as long as that stays the same. */
  available(signal: AbortSignal): Promise<number>;
  /** By how much that can shrink in a second at most. */
  readonly perSecond: number;
  /** How often it is read at most while it is not seen to shrink, in ms; every 100 ms where absent. */
  readonly quietMs?: number;
}

/** Between which times a gauge is read again, in ms. */
export interface LookLimits {
  readonly minMs: number;
  readonly maxMs: number;
}

/** How soon a gauge is to be read again: before what is left above the threshold can be used up, but not all the time. */
export function nextLookMs(headroom: number, perSecond: number, { minMs, maxMs }: LookLimits): number {
  return Math.min(Math.max((headroom / perSecond) * 1000, minMs), maxMs);
}

/**
 * The same of a gauge that was seen to shrink by so much a second: it is read when half of what is left is gone at that speed, or,
 * where nothing is seen, when all of it could be.
 */
export function plannedLookMs(
  headroom: number,
  { perSecond, quietMs = 0 }: Pick<Gauge, 'perSecond' | 'quietMs'>,
  seenPerSecond: number,
  { minMs, maxMs }: LookLimits,
): number {
  const atWorstMs = nextLookMs(headroom, perSecond, { minMs: Math.max(minMs, quietMs), maxMs });
  return seenPerSecond > 0 ? Math.min(atWorstMs, nextLookMs(headroom / 2, seenPerSecond, { minMs, maxMs })) : atWorstMs;
}

/**
 * How much there is above the highest threshold that is not met yet; `undefined` where there is none to wait for. Those that
 * are met are known, and looked at at the usual pace.
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
