import type { InvariantId } from './invariants/invariant.ts';
import type { ShrunkTrace } from './shrink.ts';
import type { SimulationResult } from './simulate.ts';

/** Accumulated results of many runs. */
export class Totals {
  /** Number of seeds that were run. */
  seeds = 0;
  /** Number of runs that broke an invariant. */
  failed = 0;
  /** Sum of the virtual time of all runs. */
  virtualMs = 0;
  readonly faults: Map<string, number> = new Map();
  readonly checks: Map<InvariantId, number> = new Map();

  add(result: Pick<SimulationResult, 'violation' | 'elapsedMs' | 'faults' | 'checks'>): void {
    this.seeds++;
    if (result.violation !== undefined) this.failed++;
    this.virtualMs += result.elapsedMs;
    merge(this.faults, result.faults);
    merge(this.checks, result.checks);
  }

  /** Returns the totals as lines of text. */
  lines(): readonly string[] {
    return [
      `seeds run: ${this.seeds}, of which ${this.failed} broke an invariant; ${Math.round(this.virtualMs / 60_000)} min of virtual time`,
      `faults injected: ${listed(this.faults)}`,
      `invariants checked: ${listed(this.checks)}`,
    ];
  }
}

/** Returns the lines to print for a failure: the seed, the violation and the shortest trace. */
export function failureLines(seed: number, { scenario, violation, runs }: ShrunkTrace): readonly string[] {
  return [
    `seed ${seed}: ${violation.invariant} is broken after ${(violation.atMs / 1000).toFixed(3)} s: ${violation.message}`,
    `shortest trace that breaks it (${scenario.actions.length} actions, found in ${runs} runs):`,
    `  node ${JSON.stringify(scenario.node)}`,
    ...scenario.actions.map((action) => `  ${JSON.stringify(action)}`),
    'what happened last:',
    ...violation.history.slice(-25).map((line) => `  ${line}`),
  ];
}

function merge<K>(into: Map<K, number>, from: ReadonlyMap<K, number>): void {
  for (const [key, count] of from) into.set(key, (into.get(key) ?? 0) + count);
}

function listed(counts: ReadonlyMap<string, number>): string {
  return [...counts]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, count]) => `${name} ${count}`)
    .join(', ');
}
