import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import type { ContainerdBinaries } from '@node-agent/tools-containerd';
import { BareRuntime } from '../bare-runtime.ts';
import { machineCpuSeconds } from '../proc.ts';
import { RuntimeSide } from '../runtime-side.ts';
import { POD_COMMAND } from './cluster-pods.ts';
import type { Bare } from './figures.ts';
import type { ClusterBenchOptions } from './options.ts';

/** What a turn of the bare runtime is taken with. */
export interface BarePlan {
  readonly options: Pick<ClusterBenchOptions, 'pods' | 'singles'>;
  readonly binaries: ContainerdBinaries;
  readonly directory: string;
  readonly subnet: string;
  readonly say: (text: string) => void;
}

/** As many starts at once as this repository's kubelet allows. */
const STARTS_PER_CPU = 2;

/** Starts a runtime, and in it the pods that the kubelets are measured with, by the calls alone that no start can do without. */
export async function takeBareTurn(
  { options, binaries, directory, subnet, say }: BarePlan,
  signal: AbortSignal,
): Promise<Bare> {
  const side = await RuntimeSide.start(binaries, directory, subnet);
  try {
    const bare = new BareRuntime(side, join(directory, 'pods'), POD_COMMAND);
    say('bare runtime: single pods');
    const singleMs: number[] = [];
    for (let index = 0; index < options.singles; index++) {
      singleMs.push((await bare.batch([`single-${index}`], 1, signal)).totalMs);
    }
    say(`bare runtime: ${options.pods} pods`);
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
