import { failureLines } from './report.ts';
import { generateScenario } from './scenario/generate.ts';
import { shrink } from './shrink.ts';
import { type SimulationResult, simulate } from './simulate.ts';

/** How each seed of a row is run. */
export interface SeedOptions {
  /** How many things are done to the node. */
  readonly events: number;
  /** Whether the node is one of a cluster. */
  readonly cluster: boolean;
  /** Whether every node has little to give. */
  readonly scarce: boolean;
  readonly devices: boolean;
  readonly shutdown: boolean;
  /** Whether the shortest trace of a failure is looked for: that takes up to 300 runs. */
  readonly shrink: boolean;
}

/** What a seed came to; it can be sent from one thread to another. */
export interface SeedReport extends Pick<SimulationResult, 'faults' | 'checks' | 'elapsedMs' | 'violation'> {
  readonly seed: number;
  /** What to print of it, where it has failed. */
  readonly lines: readonly string[];
}

/** What is told of a row of seeds while it runs. */
export interface SeedListener {
  /** A seed has failed; its report follows when its shortest trace is found. */
  readonly onFailure: (line: string) => void;
  readonly onObservation?: (text: string) => void;
}

/** Runs one seed. The same seed gives the same report, whoever runs it. */
export async function runSeed(seed: number, options: SeedOptions, listener: SeedListener): Promise<SeedReport> {
  const { onFailure, onObservation } = listener;
  const { events, cluster, scarce, devices, shutdown } = options;
  const result = await simulate(
    generateScenario(seed, { events, cluster, scarce, devices, shutdown }),
    onObservation && { onObservation },
  );
  const { faults, checks, elapsedMs, violation } = result;
  const report = { seed, faults, checks, elapsedMs, violation };
  if (violation === undefined) return { ...report, lines: [] };
  onFailure(`seed ${seed}: ${violation.invariant}: ${violation.message}`);
  return { ...report, lines: options.shrink ? failureLines(seed, await shrink(result)) : [] };
}
