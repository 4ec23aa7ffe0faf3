import { parseQuantity } from '@node-agent/pod-spec';
import type { ThresholdRow } from '../wire.ts';
import { cut, known } from './cut.ts';

/** The part of eviction's explanation that is shown (`EvictionExplanation` of `@node-agent/eviction`). */
interface ExplainedThreshold {
  /** Threshold as in logs: `memory.available<100Mi`, `nodefs.available<10% for 90s`. */
  readonly threshold: string;
  readonly available?: string;
  readonly capacity?: string;
  readonly met: boolean;
}

const PATTERN = /^([\w.-]+)<(.+)$/;
/** Maximum number of thresholds: the kubelet has nine signals, each with a hard and a soft threshold. */
const MAX_ROWS = 40;

/**
 * Returns the eviction thresholds with the distance to each, from the explanation of the eviction manager. Entries that
 * cannot be read are left out. The nearest threshold, relative to the capacity, is first.
 */
export function thresholdRows(explanation: unknown): readonly ThresholdRow[] {
  const list = (explanation as { readonly thresholds?: readonly ExplainedThreshold[] } | undefined)?.thresholds ?? [];
  return list
    .slice(0, MAX_ROWS)
    .flatMap((one) => thresholdRow(one) ?? [])
    .toSorted((a, b) => nearness(a) - nearness(b));
}

function thresholdRow({ threshold, available, capacity, met }: ExplainedThreshold): ThresholdRow | undefined {
  const [, signal, limit] = PATTERN.exec(threshold) ?? [];
  if (signal === undefined || limit === undefined) return undefined;
  const all = amountOf(capacity);
  const left = amountOf(available);
  const limitAmount = limitOf(limit, all);
  return known<ThresholdRow>({
    signal: cut(signal, 100),
    limit: cut(limit, 100),
    unit: /inodes|pid/i.test(signal) ? 'count' : 'bytes',
    limitAmount,
    available: left,
    capacity: all,
    distance: left === undefined || limitAmount === undefined ? undefined : left - limitAmount,
    isMet: met,
  });
}

/** Returns a threshold as an amount: `10% for 90s` of a capacity, or a quantity. */
function limitOf(limit: string, capacity: number | undefined): number | undefined {
  const [amount = ''] = limit.split(' for ');
  const percent = /^([\d.]+)%$/.exec(amount)?.[1];
  if (percent === undefined) return amountOf(amount);
  return capacity === undefined ? undefined : Math.trunc((capacity * Number(percent)) / 100);
}

function amountOf(quantity: string | undefined): number | undefined {
  if (quantity === undefined) return undefined;
  try {
    return Number(parseQuantity(quantity).value());
  } catch {
    return undefined;
  }
}

function nearness({ distance, capacity }: ThresholdRow): number {
  return distance === undefined ? Number.POSITIVE_INFINITY : distance / (capacity || 1);
}
