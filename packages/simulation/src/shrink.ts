import type { Action, Scenario } from './scenario/actions.ts';
import { type SimulateOptions, type SimulationResult, simulate, type Violation } from './simulate.ts';

/** Options of {@link shrink}. */
export interface ShrinkOptions extends SimulateOptions {
  /** Maximum number of runs. Default: 300. */
  readonly maxRuns?: number;
}

/** The shortest trace that was found. */
export interface ShrunkTrace {
  readonly scenario: Scenario;
  readonly violation: Violation;
  /** Number of runs that the search took. */
  readonly runs: number;
}

/**
 * Minimizes a failing scenario by delta debugging (Zeller 1999): it repeatedly removes parts of the actions, with
 * decreasing size, as long as the same invariant is still broken.
 */
export async function shrink(failed: SimulationResult, options: ShrinkOptions = {}): Promise<ShrunkTrace> {
  const { violation } = failed;
  if (violation === undefined) throw new TypeError('shrink: result must contain a violation');
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
  // Actions after the violation cannot have caused it, unless the violation was only detected at the end of the run.
  await stillFails(best.scenario.actions.filter(({ atMs }) => atMs <= violation.atMs));
  for (let size = Math.ceil(best.scenario.actions.length / 2); size >= 1 && runs < maxRuns; ) {
    if (!(await leaveOutOne(size))) size = size === 1 ? 0 : Math.floor(size / 2);
  }
  return { ...best, runs };

  /**
   * Removes the first part with `size` actions that is not needed for the violation. Returns false if every part is
   * needed.
   */
  async function leaveOutOne(size: number): Promise<boolean> {
    const { actions } = best.scenario;
    for (let from = 0; from < actions.length && runs < maxRuns; from += size) {
      if (await stillFails([...actions.slice(0, from), ...actions.slice(from + size)])) return true;
    }
    return false;
  }
}
