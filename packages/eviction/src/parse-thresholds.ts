import { parseQuantity, Quantity } from '@node-agent/pod-spec';
import { EvictionError } from './errors.ts';
import { isSignal, SIGNALS, type Signal } from './signals.ts';
import { isHard, type Threshold, type ThresholdValue } from './threshold.ts';

/** Thresholds in the form of the kubelet configuration: by signal, as quantities (`100Mi`) or percentages (`10%`). */
export interface ThresholdSettings {
  /** Hard eviction thresholds (no grace period). */
  readonly evictionHard?: Readonly<Record<string, string>>;
  /** Soft eviction thresholds (with the signal's grace period). */
  readonly evictionSoft?: Readonly<Record<string, string>>;
  /** Grace period of each soft threshold, in ms. Each soft threshold needs a grace period. */
  readonly evictionSoftGracePeriodMs?: Readonly<Record<string, number>>;
  readonly evictionMinimumReclaim?: Readonly<Record<string, string>>;
  /**
   * Whether node allocatable is enforced on pods. If true, hard memory thresholds also apply to the cgroup of all pods.
   * Default: false.
   */
  readonly enforcesAllocatable?: boolean;
}

/**
 * Parses the thresholds of a configuration (`ParseThresholdConfig` of `pkg/kubelet/eviction/helpers.go`), hard ones
 * first. The values `0%` and `100%` disable a threshold.
 * @throws EvictionError `InvalidOptions`, naming the field, if a value is invalid
 */
export function parseThresholds(settings: ThresholdSettings): readonly Threshold[] {
  const {
    evictionHard = {},
    evictionSoft = {},
    evictionSoftGracePeriodMs = {},
    evictionMinimumReclaim = {},
  } = settings;
  const reclaims = new Map(
    entries('evictionMinimumReclaim', evictionMinimumReclaim).map(([path, signal, text]) => [
      signal,
      parseReclaim(path, text),
    ]),
  );
  const graces = new Map(
    entries('evictionSoftGracePeriodMs', evictionSoftGracePeriodMs).map(([path, signal, periodMs]) => [
      signal,
      checkPeriod(path, periodMs),
    ]),
  );
  const made = (signal: Signal, value: ThresholdValue, gracePeriodMs: number): Threshold => {
    const minReclaim = reclaims.get(signal);
    return { signal, value, gracePeriodMs, ...(minReclaim && { minReclaim }) };
  };
  const hard = entries('evictionHard', evictionHard).flatMap(([path, signal, text]) => {
    const value = parseValue(path, text);
    return value === undefined ? [] : [made(signal, value, 0)];
  });
  const soft = entries('evictionSoft', evictionSoft).flatMap(([path, signal, text]) => {
    const value = parseValue(path, text);
    if (value === undefined) return [];
    const gracePeriodMs = graces.get(signal);
    if (gracePeriodMs === undefined) {
      throw invalid(path, `must have a grace period in evictionSoftGracePeriodMs`);
    }
    return [made(signal, value, gracePeriodMs)];
  });
  const all = [...hard, ...soft];
  return settings.enforcesAllocatable ? [...all, ...allocatableOf(all)] : all;
}

/** Derives thresholds for the memory available to pods from the hard memory thresholds of the node. */
function allocatableOf(thresholds: readonly Threshold[]): readonly Threshold[] {
  return thresholds.flatMap((threshold) => {
    if (threshold.signal !== 'memory.available' || !isHard(threshold)) return [];
    return [{ ...threshold, signal: 'allocatableMemory.available' as const }];
  });
}

function entries<T>(field: string, map: Readonly<Record<string, T>>): readonly (readonly [string, Signal, T])[] {
  if (typeof map !== 'object' || map === null) throw invalid(field, `must be an object, not ${String(map)}`);
  return Object.entries(map).map(([name, value]) => {
    const path = `${field}[${JSON.stringify(name)}]`;
    if (!isSignal(name)) throw invalid(path, `must be an eviction signal: ${SIGNALS.join(', ')}`);
    return [path, name, value];
  });
}

function parseValue(path: string, text: string): ThresholdValue | undefined {
  checkText(path, text);
  if (text === '0%' || text === '100%') return undefined;
  if (text.endsWith('%')) {
    const percent = parsePercent(text);
    if (!(percent >= 0 && percent <= 100))
      throw invalid(path, `${JSON.stringify(text)} must be a percentage from 0% to 100%`);
    return { fraction: fractionOf(percent) };
  }
  const quantity = quantityAt(path, text);
  if (quantity.compare(Quantity.zero) <= 0) throw invalid(path, `${JSON.stringify(text)} must be positive`);
  return { quantity };
}

function parseReclaim(path: string, text: string): ThresholdValue {
  checkText(path, text);
  if (text.endsWith('%')) {
    const percent = parsePercent(text);
    if (!(percent > 0 && percent < Number.POSITIVE_INFINITY)) {
      throw invalid(path, `${JSON.stringify(text)} must be a percentage above 0%`);
    }
    return { fraction: fractionOf(percent) };
  }
  const quantity = quantityAt(path, text);
  if (quantity.compare(Quantity.zero) < 0) throw invalid(path, `${JSON.stringify(text)} must not be negative`);
  return { quantity };
}

function checkText(path: string, text: unknown): void {
  if (typeof text !== 'string') throw invalid(path, `${String(text)} must be a string such as "100Mi" or "10%"`);
}

function checkPeriod(path: string, periodMs: number): number {
  if (typeof periodMs !== 'number' || !(periodMs >= 0 && periodMs < Number.POSITIVE_INFINITY)) {
    throw invalid(path, `${periodMs} ms must be a grace period of at least 0 ms`);
  }
  return periodMs;
}

function parsePercent(text: string): number {
  return /^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?%$/.test(text) ? Number(text.slice(0, -1)) : Number.NaN;
}

/** Rounds as upstream does, which parses percentages as 32-bit floats, so that thresholds match to the byte. */
function fractionOf(percent: number): number {
  return Math.fround(Math.fround(percent) / 100);
}

function quantityAt(path: string, text: string): Quantity {
  try {
    return parseQuantity(text);
  } catch (cause) {
    throw invalid(path, (cause as Error).message, { cause });
  }
}

function invalid(path: string, why: string, options?: ErrorOptions): EvictionError {
  return new EvictionError('InvalidOptions', `${path}: ${why}`, options);
}
