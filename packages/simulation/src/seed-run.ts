import { failureLines } from './report.ts';
import { generateScenario } from './scenario/generate.ts';
import { shrink } from './shrink.ts';
import { type SimulationResult, simulate } from './simulate.ts';

/** Options for the runs of all seeds. */
export interface SeedOptions {
  /** Number of random actions in each run. */
  readonly events: number;
  /** Whether the node is part of a cluster. */
  readonly cluster: boolean;
  /** Whether every node has scarce resources. */
  readonly scarce: boolean;
  readonly devices: boolean;
  readonly shutdown: boolean;
  /** Whether every node has CSI drivers and volumes. */
  readonly volumes: boolean;
  /** Whether containers of every node get CPUs, memory and claimed devices for themselves. */
  readonly resources: boolean;
  /** Whether to search for the shortest trace of a failure, which needs up to 300 runs. */
  readonly shrink: boolean;
}

/** Result of the run of a seed. The result can be sent between threads. */
export interface SeedReport extends Pick<SimulationResult, 'faults' | 'checks' | 'elapsedMs' | 'violation'> {
  readonly seed: number;
  /** Lines to print if the seed failed. */
  readonly lines: readonly string[];
}

/** Receives progress while seeds run. */
export interface SeedListener {
  /** Called when a seed has failed. The report of the seed follows when the shortest trace has been found. */
  readonly onFailure: (line: string) => void;
  readonly onObservation?: (text: string) => void;
}

/** Runs one seed. The same seed gives the same report in every thread. */
export async function runSeed(seed: number, options: SeedOptions, listener: SeedListener): Promise<SeedReport> {
  const { onFailure, onObservation } = listener;
  const { events, cluster, scarce, devices, shutdown, volumes, resources } = options;
  const result = await simulate(
    generateScenario(seed, { events, cluster, scarce, devices, shutdown, volumes, resources }),
    onObservation && { onObservation },
  );
  const { faults, checks, elapsedMs, violation } = result;
  const report = { seed, faults, checks, elapsedMs, violation };
  if (violation === undefined) return { ...report, lines: [] };
  onFailure(`seed ${seed}: ${violation.invariant}: ${violation.message}`);
  return { ...report, lines: options.shrink ? failureLines(seed, await shrink(result)) : [] };
}
