import { join } from 'node:path';
import { type ContainerdBinaries, findOrBuildContainerd24 } from '@node-agent/tools-containerd';
import { ControlPlane, findControlPlane, findUpstreamKubelet } from '@node-agent/tools-control-plane';
import type { BenchNodePlan } from './bench-node.ts';
import { BUILT_KUBELET, subnetsForPods } from './command.ts';

/** Options of a comparison of both kubelets. */
export interface SideBySideOptions {
  /** Number of turns per kubelet. */
  readonly rounds: number;
  /** Whether the Go kubelet is left out. */
  readonly alone: boolean;
  /** Directory for CPU profiles of this kubelet. If `undefined`, no profiles are written. */
  readonly profiles?: string | undefined;
  /** Path of this kubelet. Default: the built one. */
  readonly kubelet?: string;
}

/** Options of one turn. */
export interface TurnPlan extends BenchNodePlan {
  readonly binaries: ContainerdBinaries;
}

/** Results of both kubelets' turns, in chronological order. */
export interface SideBySide<T> {
  readonly ours: readonly T[];
  readonly go: readonly T[];
}

/** Both kubelets, in one private cluster. */
export interface BothKubelets {
  /** Returns the options of a turn of this kubelet. @param round number of the turn */
  readonly ours: (round: number) => TurnPlan;
  /** The same for the Go kubelet. Undefined if it is left out. */
  readonly go: ((round: number) => TurnPlan) | undefined;
}

/**
 * Runs work with a private cluster for both kubelets.
 * @param directory directory for all files
 * @throws Error if a program is missing and cannot be built
 */
export async function withBothKubelets<T>(
  { alone, profiles, kubelet = BUILT_KUBELET }: Omit<SideBySideOptions, 'rounds'>,
  { directory, say }: { readonly directory: string; readonly say: (text: string) => void },
  work: (both: BothKubelets) => Promise<T>,
): Promise<T> {
  const runtime = await findOrBuildContainerd24(say);
  if ('reason' in runtime) throw new Error(runtime.reason);
  const upstream = alone ? undefined : await findUpstreamKubelet({ say });
  if (upstream !== undefined && 'reason' in upstream) throw new Error(upstream.reason);
  const programs = await findControlPlane({ say });
  if ('reason' in programs) throw new Error(programs.reason);
  const controlPlane = new ControlPlane({ binaries: programs.binaries, directory: join(directory, 'control-plane') });
  const [goSubnet, subnet] = subnetsForPods();
  const place = (name: string, round: number) => ({
    ...{ controlPlane, binaries: runtime.binaries, nodeName: `${name}-${round}` },
    directory: join(directory, `${name}${round}`),
  });
  await controlPlane.start();
  try {
    return await work({
      ours: (round) => ({ ...place('ours', round), program: kubelet, subnet, profiles }),
      go: upstream && ((round) => ({ ...place('go', round), program: upstream.binaries.kubelet, subnet: goSubnet })),
    });
  } finally {
    await controlPlane.stop();
  }
}

/** Takes turns of both kubelets alternately, each with its own node in one private cluster. */
export function takeSideBySide<T>(
  options: SideBySideOptions,
  shell: { readonly directory: string; readonly say: (text: string) => void },
  take: (plan: TurnPlan) => Promise<T>,
): Promise<SideBySide<T>> {
  return withBothKubelets(options, shell, async (both) => {
    const [ours, go]: [T[], T[]] = [[], []];
    for (let round = 0; round < options.rounds; round++) {
      if (both.go !== undefined) go.push(await take(both.go(round)));
      ours.push(await take(both.ours(round)));
    }
    return { ours, go };
  });
}
