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

/**
 * Takes turns of both kubelets alternately, each with its own node in one private cluster.
 * @param directory directory for all files
 * @throws Error if a program is missing and cannot be built
 */
export async function takeSideBySide<T>(
  { rounds, alone, profiles, kubelet = BUILT_KUBELET }: SideBySideOptions,
  { directory, say }: { readonly directory: string; readonly say: (text: string) => void },
  take: (plan: TurnPlan) => Promise<T>,
): Promise<SideBySide<T>> {
  const runtime = await findOrBuildContainerd24(say);
  if ('reason' in runtime) throw new Error(runtime.reason);
  const upstream = alone ? undefined : await findUpstreamKubelet({ say });
  if (upstream !== undefined && 'reason' in upstream) throw new Error(upstream.reason);
  const programs = await findControlPlane({ say });
  if ('reason' in programs) throw new Error(programs.reason);
  const controlPlane = new ControlPlane({ binaries: programs.binaries, directory: join(directory, 'control-plane') });
  const [goSubnet, subnet] = subnetsForPods();
  const [ours, go]: [T[], T[]] = [[], []];
  await controlPlane.start();
  try {
    for (let round = 0; round < rounds; round++) {
      const place = (name: string) => ({
        ...{ controlPlane, binaries: runtime.binaries, nodeName: `${name}-${round}` },
        directory: join(directory, `${name}${round}`),
      });
      if (upstream !== undefined) {
        go.push(await take({ ...place('go'), program: upstream.binaries.kubelet, subnet: goSubnet }));
      }
      ours.push(await take({ ...place('ours'), program: kubelet, subnet, profiles }));
    }
  } finally {
    await controlPlane.stop();
  }
  return { ours, go };
}
