import { Quantity } from '@node-agent/pod-spec';
import type { Signal } from './signals.ts';

/** Absolute amount, or fraction of the capacity. */
export type ThresholdValue = { readonly quantity: Quantity } | { readonly fraction: number };

/**
 * Eviction threshold: the minimum amount of a signal that must be available. Thresholds are compared by object
 * identity.
 */
export interface Threshold {
  readonly signal: Signal;
  readonly value: ThresholdValue;
  /** Time for which the threshold must be met before pods are evicted, in ms. 0 for a hard threshold. */
  readonly gracePeriodMs: number;
  /** Additional amount that must be available until the threshold no longer counts as met. Default: none. */
  readonly minReclaim?: ThresholdValue;
}

/** Returns whether the threshold is hard: pods are evicted with a grace period of one second. */
export function isHard({ gracePeriodMs }: Pick<Threshold, 'gracePeriodMs'>): boolean {
  return gracePeriodMs === 0;
}

/** Converts a threshold value into a quantity for this capacity (upstream: `GetThresholdQuantity`). */
export function quantityOf(value: ThresholdValue, capacity: Quantity): Quantity {
  if ('quantity' in value) return value.quantity;
  return Quantity.of(Math.trunc(Number(capacity.value()) * value.fraction), 'BinarySI');
}

/**
 * Returns whether less is available than the threshold requires. @param withMinReclaim whether the minimum reclaim is
 * added to the threshold
 */
export function isMet(
  { value, minReclaim }: Pick<Threshold, 'value' | 'minReclaim'>,
  { available, capacity }: { readonly available: Quantity; readonly capacity: Quantity },
  withMinReclaim: boolean,
): boolean {
  const wanted = quantityOf(value, capacity);
  const more = withMinReclaim && minReclaim !== undefined ? quantityOf(minReclaim, capacity) : Quantity.zero;
  return wanted.add(more).compare(available) > 0;
}

/** Returns whether two thresholds have the same signal, amounts and grace period. */
export function isSameThreshold(a: Threshold, b: Threshold): boolean {
  return a.signal === b.signal && a.gracePeriodMs === b.gracePeriodMs && textOf(a) === textOf(b);
}

function textOf({ value, minReclaim }: Threshold): string {
  const text = (amount: ThresholdValue | undefined): string => {
    if (amount === undefined) return '';
    return 'quantity' in amount ? String(amount.quantity) : String(amount.fraction);
  };
  return `${text(value)} ${text(minReclaim)}`;
}

/** Formats a threshold for logs: `memory.available<100Mi`, `nodefs.available<10% for 90s`. */
export function formatThreshold({ signal, value, gracePeriodMs }: Threshold): string {
  const text = 'quantity' in value ? String(value.quantity) : `${Number((value.fraction * 100).toFixed(4))}%`;
  return `${signal}<${text}${gracePeriodMs > 0 ? ` for ${gracePeriodMs / 1000}s` : ''}`;
}
