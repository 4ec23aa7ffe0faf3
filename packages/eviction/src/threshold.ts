import { Quantity } from '@node-agent/pod-spec';
import type { Signal } from './signals.ts';

/** An amount, or a part of the capacity. */
export type ThresholdValue = { readonly quantity: Quantity } | { readonly fraction: number };

/** Of what how little may be left. Two of them are the same only where they are the same object. */
export interface Threshold {
  readonly signal: Signal;
  readonly value: ThresholdValue;
  /** How long less must have been left before pods are evicted, in ms. 0: the threshold is a hard one. */
  readonly gracePeriodMs: number;
  /** How much more than the threshold must be left until it counts as met no longer; nothing where absent. */
  readonly minReclaim?: ThresholdValue;
}

/** Pods have no time then: they get a second. */
export function isHard({ gracePeriodMs }: Pick<Threshold, 'gracePeriodMs'>): boolean {
  return gracePeriodMs === 0;
}

/** What a value is where there is this much in all (`GetThresholdQuantity`). */
export function quantityOf(value: ThresholdValue, capacity: Quantity): Quantity {
  if ('quantity' in value) return value.quantity;
  return Quantity.of(Math.trunc(Number(capacity.value()) * value.fraction), 'BinarySI');
}

/** Whether less is left than the threshold asks for. @param withMinReclaim whether what is to be reclaimed is asked for too */
export function isMet(
  { value, minReclaim }: Pick<Threshold, 'value' | 'minReclaim'>,
  { available, capacity }: { readonly available: Quantity; readonly capacity: Quantity },
  withMinReclaim: boolean,
): boolean {
  const wanted = quantityOf(value, capacity);
  const more = withMinReclaim && minReclaim !== undefined ? quantityOf(minReclaim, capacity) : Quantity.zero;
  return wanted.add(more).compare(available) > 0;
}

/** For people: `memory.available<100Mi`, `nodefs.available<10% for 90s`. */
export function formatThreshold({ signal, value, gracePeriodMs }: Threshold): string {
  const text = 'quantity' in value ? String(value.quantity) : `${Number((value.fraction * 100).toFixed(4))}%`;
  return `${signal}<${text}${gracePeriodMs > 0 ? ` for ${gracePeriodMs / 1000}s` : ''}`;
}
