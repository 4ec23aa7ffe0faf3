import type { Action, Scenario } from './scenario/actions.ts';
import { type SimulateOptions, type SimulationResult, simulate, type Violation } from './simulate.ts';

/** How hard to try. */
export interface ShrinkOptions extends SimulateOptions {
  /** How many runs at most; 300 by default. */
  readonly maxRuns?: number;
}

/** The shortest trace that was found. */
export interface ShrunkTrace {
  readonly scenario: Scenario;
  readonly violation: Violation;
  /** How many runs it took. */
  readonly runs: number;
}

/**
 * Cuts a failing scenario down (delta debugging, Zeller 1999): ever smaller parts of its actions are left out for as
 * long as the same invariant is still broken.
 */
export async function shrink(failed: SimulationResult, options: ShrinkOptions = {}): Promise<ShrunkTrace> {
  const { violation } = failed;
  if (violation === undefined) throw new TypeError('there is nothing to shrink: no invariant was broken');
  const { maxRuns = 300, ...simulation } = options;
  let runs = 0;
  let best: ShrunkTrace = { scenario: failed.scenario, violation, runs };
  const stillFails = async (actions: readonly Action[]): Promise<boolean> => {
    runs++;
    const scenario = { ...best.scenario, actions };
    const result = await simulate(scenario, simulation);
    if (result.violation?.invariant !== violation.invariant) return false;
    best = { scenario, violation: result.violation, runs };
    return true;
  };
  // What comes after the violation plays no part in it, unless it was seen at the end only.
  await stillFails(best.scenario.actions.filter(({ atMs }) => atMs <= violation.atMs));
  for (let size = Math.ceil(best.scenario.actions.length / 2); size >= 1 && runs < maxRuns; ) {
    if (!(await leaveOutOne(size))) size = size === 1 ? 0 : Math.floor(size / 2);
  }
  return { ...best, runs };

  /** Leaves out the first part of this size that is not needed. */
  async function leaveOutOne(size: number): Promise<boolean> {
    const { actions } = best.scenario;
    for (let from = 0; from < actions.length && runs < maxRuns; from += size) {
      if (await stillFails([...actions.slice(0, from), ...actions.slice(from + size)])) return true;
    }
    return false;
  }
}
