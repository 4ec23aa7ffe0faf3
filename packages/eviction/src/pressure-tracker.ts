import type { Clock } from '@node-agent/async';
import type { Logger } from '@node-agent/telemetry';
import { observationView } from './decisions.ts';
import type { EvictionExplanation } from './explanation.ts';
import { callGuarded } from './guarded-calls.ts';
import type { Observations } from './observations.ts';
import {
  conditionsIn,
  isMetBy,
  NO_PRESSURE,
  nextPressure,
  type PressureState,
  staleness,
  withNewerObservations,
} from './pressure.ts';
import type { PressureCondition } from './signals.ts';
import type { StatsSnapshot } from './stats-reader.ts';
import { formatThreshold, type Threshold } from './threshold.ts';

interface Components {
  readonly clock: Pick<Clock, 'now' | 'monotonic'>;
  readonly logger: Logger;
  readonly onPressureChanged?: () => void;
}

/** Result of {@link PressureTracker.observe}. */
export interface PressureCheck {
  /** Thresholds that require a response now, most urgent first. */
  readonly actionable: readonly Threshold[];
  /** Thresholds that the stats meet, whether or not their grace period has passed. */
  readonly met: readonly Threshold[];
  /** Whether a threshold may need a response, but the stats are not fresh enough to act on. */
  readonly needsNewerStats: boolean;
}

/**
 * Tracks which thresholds are met and which node conditions hold, as {@link nextPressure} decides, and reports changed
 * conditions.
 */
export class PressureTracker {
  readonly #components: Components;
  #transitionMs: number;
  #state: PressureState = NO_PRESSURE;
  #observations: Observations = new Map();
  /** Wall-clock time of the last action. Stats up to this time do not reflect the action. */
  #staleUntilMs = 0;
  #staleness: string | undefined;

  constructor(components: Components, { transitionMs }: { readonly transitionMs: number }) {
    this.#components = components;
    this.#transitionMs = transitionMs;
  }

  /** Changes the time by which a node condition outlasts its cause, from the next check on. */
  setTransition(transitionMs: number): void {
    this.#transitionMs = transitionMs;
  }

  /** Node conditions that hold, in a fixed order. */
  get conditions(): readonly PressureCondition[] {
    return conditionsIn(this.#state);
  }

  /** Met thresholds with the monotonic time since when each is met. */
  get firstMetAt(): PressureState['firstMetAt'] {
    return this.#state.firstMetAt;
  }

  /** Reason why some of the last stats are ignored; `undefined` if none are. */
  get staleness(): string | undefined {
    return this.#staleness;
  }

  /** Makes all stats up to now stale, because an action has ended whose effect they do not show (N2). */
  markStale(): void {
    this.#staleUntilMs = this.#components.clock.now();
  }

  /**
   * Returns whether a pod may have to be chosen by these stats. For disks, pods are measured both before and after the
   * removal, because the runtime's first values for writable layers may be old.
   */
  mayChoose({ observations }: StatsSnapshot, thresholds: readonly Threshold[]): boolean {
    const isAnyMet = thresholds.some((threshold) => isMetBy(threshold, observations, false));
    return isAnyMet || this.#state.pressing.length > 0;
  }

  /** Processes the stats of a check of the node. */
  observe({ observations, requestedAtMs }: StatsSnapshot, thresholds: readonly Threshold[]): PressureCheck {
    // If the wall clock was set back, the stale limit moves back too, so that stats do not stay stale forever.
    this.#staleUntilMs = Math.min(this.#staleUntilMs, requestedAtMs);
    const input = {
      thresholds,
      observations,
      nowMs: this.#components.clock.monotonic(),
      staleUntilMs: this.#staleUntilMs,
      transitionMs: this.#transitionMs,
    };
    const step = nextPressure(this.#state, input);
    const { state, actionable } = step;
    this.#staleness = staleness(step, input);
    this.#observations = observations;
    this.#setState(state);
    const needsNewerStats = state.pressing.length > actionable.length;
    return { actionable, met: [...state.firstMetAt.keys()], needsNewerStats };
  }

  /** Processes additional stats that are read between two checks of the node. */
  observeBetweenChecks({ observations }: StatsSnapshot, thresholds: readonly Threshold[]): void {
    const nowMs = this.#components.clock.monotonic();
    this.#setState(withNewerObservations(this.#state, { thresholds, observations, nowMs }));
  }

  explain(thresholds: readonly Threshold[]): EvictionExplanation['thresholds'] {
    const nowMs = this.#components.clock.monotonic();
    return thresholds.map((threshold) => {
      const sinceMs = this.#state.firstMetAt.get(threshold);
      return {
        threshold: formatThreshold(threshold),
        ...observationView(this.#observations.get(threshold.signal)),
        met: sinceMs !== undefined,
        ...(sinceMs !== undefined && { metForMs: nowMs - sinceMs }),
      };
    });
  }

  /** Stores the state and reports changed node conditions. */
  #setState(state: PressureState): void {
    const before = this.conditions;
    this.#state = state;
    const { conditions } = this;
    if (conditions.join() === before.join()) return;
    const { logger, onPressureChanged } = this.#components;
    logger.info({ conditions }, 'Eviction manager: node conditions changed');
    if (onPressureChanged !== undefined) callGuarded('onPressureChanged', onPressureChanged, logger);
  }
}
