import type { Observations } from './observations.ts';
import { conditionOf, type PressureCondition, type Signal } from './signals.ts';
import { isMet, type Threshold } from './threshold.ts';

const CONDITIONS: readonly PressureCondition[] = ['MemoryPressure', 'DiskPressure', 'PIDPressure'];

/** What is remembered from one look at the node to the next. Times are the monotonic clock's where not said otherwise. */
export interface PressureState {
  /** The thresholds that are met, grace period over or not, and since when. */
  readonly firstMetAt: ReadonlyMap<Threshold, number>;
  /** Those whose grace period is over, and that are met until what is to be reclaimed is there. */
  readonly pressing: readonly Threshold[];
  readonly conditionSeenAt: ReadonlyMap<PressureCondition, number>;
  /** Of which instant of the wall clock the last figures of each signal that has thresholds were. */
  readonly figuresAt: ReadonlyMap<Signal, number>;
}

export const NO_PRESSURE: PressureState = {
  firstMetAt: new Map(),
  pressing: [],
  conditionSeenAt: new Map(),
  figuresAt: new Map(),
};

/** What {@link nextPressure} goes by. */
export interface PressureInput {
  readonly thresholds: readonly Threshold[];
  readonly observations: Observations;
  /** The monotonic clock. */
  readonly nowMs: number;
  /** Figures of this instant of the wall clock, or of an earlier one, know nothing of what was done last. */
  readonly staleUntilMs: number;
  /** How long a condition outlasts what made it. */
  readonly transitionMs: number;
}

/** What one look at the node led to. */
export interface PressureStep {
  readonly state: PressureState;
  /** In a fixed order. */
  readonly conditions: readonly PressureCondition[];
  /** The thresholds for which something is to be done now, what is to be done first at first. */
  readonly actionable: readonly Threshold[];
}

/**
 * The rule of eviction (`synchronize` of `pkg/kubelet/eviction/eviction_manager.go`). A condition holds from the first time a
 * threshold is met to a transition period after the last (N3). Something is done about a threshold once it was met for its grace
 * period, until its minimum is reclaimed, and only for figures that are newer than those it was done for before (N2).
 */
export function nextPressure(before: PressureState, input: PressureInput): PressureStep {
  const { thresholds, observations, nowMs, transitionMs } = input;
  const met = thresholds.filter((threshold) => isMetBy(threshold, observations, false));
  // What was to be reclaimed, and is not yet, is still met.
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
  const figuresAt = new Map(before.figuresAt);
  // What no threshold is of was looked at by nobody: there may be thresholds of it at the next look.
  for (const { signal } of thresholds) {
    const atMs = observations.get(signal)?.atMs;
    if (atMs !== undefined) figuresAt.set(signal, atMs);
  }
  const state = { firstMetAt, pressing, conditionSeenAt, figuresAt };
  return {
    state,
    conditions: conditionsIn(state),
    actionable: inOrder(pressing.filter(({ signal }) => isFresh(signal, before, input))),
  };
}

/** The conditions that hold as of what is remembered, in a fixed order. */
export function conditionsIn({ conditionSeenAt }: PressureState): readonly PressureCondition[] {
  return CONDITIONS.filter((condition) => conditionSeenAt.has(condition));
}

/**
 * What is remembered once more figures have come before the next look at the node: what they say begins, and how long it lasts, counts
 * from them (N3); and a lack that is over by them has to last for its grace period anew (N2). One of which they tell nothing is as it was.
 */
export function seenMeanwhile(
  state: PressureState,
  { thresholds, observations, nowMs }: Pick<PressureInput, 'thresholds' | 'observations' | 'nowMs'>,
): PressureState {
  const isTold = ({ signal }: Threshold): boolean => observations.has(signal);
  const isLacking = (threshold: Threshold): boolean =>
    isTold(threshold)
      ? isMetBy(threshold, observations, state.pressing.includes(threshold))
      : state.firstMetAt.has(threshold);
  const lacking = thresholds.filter(isLacking);
  const seen = lacking.filter(isTold).map(({ signal }) => [conditionOf(signal), nowMs] as const);
  return {
    ...state,
    firstMetAt: new Map(lacking.map((threshold) => [threshold, state.firstMetAt.get(threshold) ?? nowMs])),
    pressing: state.pressing.filter((threshold) => lacking.includes(threshold)),
    conditionSeenAt: new Map([...state.conditionSeenAt, ...seen]),
  };
}

/** Whether a threshold is met by what is known. @param withMinReclaim with what is to be reclaimed beside */
export function isMetBy(threshold: Threshold, observations: Observations, withMinReclaim: boolean): boolean {
  const observed = observations.get(threshold.signal);
  return observed !== undefined && isMet(threshold, observed, withMinReclaim);
}

/** Figures without a time may be of any. */
function isFresh(signal: Signal, before: PressureState, { observations, staleUntilMs }: PressureInput): boolean {
  const atMs = observations.get(signal)?.atMs;
  return atMs !== undefined && atMs > (before.figuresAt.get(signal) ?? staleUntilMs) && atMs > staleUntilMs;
}

/** Why figures count for nothing, by the signals that there are thresholds of; `undefined` where all count. */
export function staleness(
  { state: { pressing }, actionable }: PressureStep,
  { thresholds, observations }: Pick<PressureInput, 'thresholds' | 'observations'>,
): string | undefined {
  const ofNoTime = thresholds.filter(({ signal }) => {
    const figures = observations.get(signal);
    return figures !== undefined && figures.atMs === undefined;
  });
  const old = pressing.filter((threshold) => !actionable.includes(threshold) && !ofNoTime.includes(threshold));
  const list = (all: readonly Threshold[]): string => [...new Set(all.map(({ signal }) => signal))].join(', ');
  const texts = [
    ...(ofNoTime.length > 0 ? [`the figures of ${list(ofNoTime)} are of no time`] : []),
    ...(old.length > 0
      ? [`the figures of ${list(old)} are no newer than what was done last, or than the last ones`]
      : []),
  ];
  return texts.length > 0 ? `nobody is evicted: ${texts.join('; ')}` : undefined;
}

/** Memory first: a node without it dies first. Otherwise as configured, hard ones first. */
function inOrder(thresholds: readonly Threshold[]): readonly Threshold[] {
  const rank = ({ signal }: Threshold): number => Number(conditionOf(signal) !== 'MemoryPressure');
  return [...thresholds].sort((one, other) => rank(one) - rank(other));
}
