import type { Observations } from './observations.ts';
import { conditionOf, type PressureCondition, type Signal } from './signals.ts';
import { isMet, type Threshold } from './threshold.ts';

const CONDITIONS: readonly PressureCondition[] = ['MemoryPressure', 'DiskPressure', 'PIDPressure'];

/** State that is kept between two checks of the node. Times are monotonic unless stated otherwise. */
export interface PressureState {
  /** Met thresholds with the time since when each is met, whether or not its grace period has passed. */
  readonly firstMetAt: ReadonlyMap<Threshold, number>;
  /**
   * Thresholds whose grace period has passed. A threshold whose grace period has passed stays met until its minimum
   * reclaim is available.
   */
  readonly pressing: readonly Threshold[];
  readonly conditionSeenAt: ReadonlyMap<PressureCondition, number>;
  /** Wall-clock time of the last values of each signal that has thresholds. */
  readonly lastObservedAt: ReadonlyMap<Signal, number>;
}

export const NO_PRESSURE: PressureState = {
  firstMetAt: new Map(),
  pressing: [],
  conditionSeenAt: new Map(),
  lastObservedAt: new Map(),
};

/** Input of {@link nextPressure}. */
export interface PressureInput {
  readonly thresholds: readonly Threshold[];
  readonly observations: Observations;
  /** Monotonic time of the check. */
  readonly nowMs: number;
  /** Wall-clock time of the last action. Values up to this time do not reflect the action. */
  readonly staleUntilMs: number;
  /** Time by which a condition outlasts its cause. */
  readonly transitionMs: number;
}

/** Result of one check of the node. */
export interface PressureStep {
  readonly state: PressureState;
  /** Conditions, in a fixed order. */
  readonly conditions: readonly PressureCondition[];
  /** Thresholds that require a reaction now, most urgent first. */
  readonly actionable: readonly Threshold[];
}

/**
 * Computes the next pressure state (`synchronize` of `pkg/kubelet/eviction/eviction_manager.go`). A condition holds
 * from the first time a threshold is met until the transition period after the last time (N3). A threshold requires a
 * reaction from the time when it has been met for its grace period until its minimum reclaim is available. The stats of
 * such a threshold must be newer than those of the previous check and than the last reaction (N2).
 */
export function nextPressure(before: PressureState, input: PressureInput): PressureStep {
  const { thresholds, observations, nowMs, transitionMs } = input;
  const met = thresholds.filter((threshold) => isMetBy(threshold, observations, false));
  // A threshold whose minimum reclaim is not available yet still counts as met.
  const unresolved = before.pressing.filter(
    (threshold) => !met.includes(threshold) && isMetBy(threshold, observations, true),
  );
  const all = [...met, ...unresolved];
  const firstMetAt = new Map(all.map((threshold) => [threshold, before.firstMetAt.get(threshold) ?? nowMs]));

  const held = [...before.conditionSeenAt].filter(([, atMs]) => nowMs - atMs < transitionMs);
  const conditionSeenAt = new Map([...held, ...all.map(({ signal }) => [conditionOf(signal), nowMs] as const)]);

  const pressing = [...firstMetAt]
    .filter(([{ gracePeriodMs }, sinceMs]) => nowMs - sinceMs >= gracePeriodMs)
    .map(([threshold]) => threshold);
  const lastObservedAt = new Map(before.lastObservedAt);
  // Signals without thresholds were not evaluated; thresholds for them may be added by the next check.
  for (const { signal } of thresholds) {
    const atMs = observations.get(signal)?.atMs;
    if (atMs !== undefined) lastObservedAt.set(signal, atMs);
  }
  const state = { firstMetAt, pressing, conditionSeenAt, lastObservedAt };
  return {
    state,
    conditions: conditionsIn(state),
    actionable: inOrder(pressing.filter(({ signal }) => isFresh(signal, before, input))),
  };
}

/** Returns the conditions that hold in a state, in a fixed order. */
export function conditionsIn({ conditionSeenAt }: PressureState): readonly PressureCondition[] {
  return CONDITIONS.filter((condition) => conditionSeenAt.has(condition));
}

/**
 * Updates the state from additional stats that were read between two checks of the node. The start and duration of
 * shortages count from these stats (N3), and a shortage that these stats show as over must last for its grace period
 * again (N2). The state of signals without values in the stats does not change.
 */
export function withNewerObservations(
  state: PressureState,
  { thresholds, observations, nowMs }: Pick<PressureInput, 'thresholds' | 'observations' | 'nowMs'>,
): PressureState {
  const isObserved = ({ signal }: Threshold): boolean => observations.has(signal);
  const isStillMet = (threshold: Threshold): boolean =>
    isObserved(threshold)
      ? isMetBy(threshold, observations, state.pressing.includes(threshold))
      : state.firstMetAt.has(threshold);
  const stillMet = thresholds.filter(isStillMet);
  const seen = stillMet.filter(isObserved).map(({ signal }) => [conditionOf(signal), nowMs] as const);
  return {
    ...state,
    firstMetAt: new Map(stillMet.map((threshold) => [threshold, state.firstMetAt.get(threshold) ?? nowMs])),
    pressing: state.pressing.filter((threshold) => stillMet.includes(threshold)),
    conditionSeenAt: new Map([...state.conditionSeenAt, ...seen]),
  };
}

/**
 * Returns whether a threshold is met by the observations. @param withMinReclaim whether the minimum reclaim is added to
 * the threshold
 */
export function isMetBy(threshold: Threshold, observations: Observations, withMinReclaim: boolean): boolean {
  const observed = observations.get(threshold.signal);
  return observed !== undefined && isMet(threshold, observed, withMinReclaim);
}

/** Values without a time are never fresh, because their age is unknown. */
function isFresh(signal: Signal, before: PressureState, { observations, staleUntilMs }: PressureInput): boolean {
  const atMs = observations.get(signal)?.atMs;
  return atMs !== undefined && atMs > (before.lastObservedAt.get(signal) ?? staleUntilMs) && atMs > staleUntilMs;
}

/** Returns why values are ignored, by signal; `undefined` if none are ignored. */
export function staleness(
  { state: { pressing }, actionable }: PressureStep,
  { thresholds, observations }: Pick<PressureInput, 'thresholds' | 'observations'>,
): string | undefined {
  const withoutTime = thresholds.filter(({ signal }) => {
    const observation = observations.get(signal);
    return observation !== undefined && observation.atMs === undefined;
  });
  const old = pressing.filter((threshold) => !actionable.includes(threshold) && !withoutTime.includes(threshold));
  const list = (all: readonly Threshold[]): string => [...new Set(all.map(({ signal }) => signal))].join(', ');
  const texts = [
    ...(withoutTime.length > 0 ? [`the stats of ${list(withoutTime)} have no time`] : []),
    ...(old.length > 0 ? [`the stats of ${list(old)} are not newer than the last action or the previous stats`] : []),
  ];
  return texts.length > 0 ? `no pod is evicted: ${texts.join('; ')}` : undefined;
}

/**
 * Sorts memory thresholds first, because a node without memory fails first. The other thresholds stay in configured
 * order, hard ones first.
 */
function inOrder(thresholds: readonly Threshold[]): readonly Threshold[] {
  const rank = ({ signal }: Threshold): number => Number(conditionOf(signal) !== 'MemoryPressure');
  return [...thresholds].sort((one, other) => rank(one) - rank(other));
}
