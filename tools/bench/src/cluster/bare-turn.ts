import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import type { ContainerdBinaries } from '@node-agent/tools-containerd';
import { BareRuntime } from '../bare-runtime.ts';
import { machineCpuSeconds } from '../proc.ts';
import { RuntimeSide } from '../runtime-side.ts';
import { POD_COMMAND } from './cluster-pods.ts';
import type { Bare } from './figures.ts';
import type { ClusterBenchOptions } from './options.ts';

/** Options of {@link takeBareTurn}. */
export interface BarePlan {
  readonly options: Pick<ClusterBenchOptions, 'pods' | 'singles'>;
  readonly binaries: ContainerdBinaries;
  readonly directory: string;
  readonly subnet: string;
  readonly say: (text: string) => void;
}

/** Maximum number of concurrent starts per CPU, as in this repository's kubelet. */
const STARTS_PER_CPU = 2;

/**
 * Starts a runtime, and measures how long it takes to start the pods of the benchmark with only the runtime calls that
 * are indispensable.
 */
export async function takeBareTurn(
  { options, binaries, directory, subnet, say }: BarePlan,
  signal: AbortSignal,
): Promise<Bare> {
  const side = await RuntimeSide.start(binaries, directory, subnet);
  try {
    const bare = new BareRuntime(side, join(directory, 'pods'), POD_COMMAND);
    say('bare runtime: starting single pods');
    const singleMs: number[] = [];
    for (let index = 0; index < options.singles; index++) {
      singleMs.push((await bare.batch([`single-${index}`], 1, signal)).totalMs);
    }
    say(`bare runtime: starting ${options.pods} pods`);
    const names = Array.from({ length: options.pods }, (_, index) => `batch-${index}`);
    const before = await machineCpuSeconds();
    const { readyMs } = await bare.batch(names, STARTS_PER_CPU * availableParallelism(), signal);
    const machineSeconds = (await machineCpuSeconds()) - before;
    await bare.clear(signal);
    return { batchReadyMs: readyMs, machineSeconds, singleMs };
  } finally {
    await side.stop();
  }
}
