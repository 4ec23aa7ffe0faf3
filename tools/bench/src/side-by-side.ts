import { join } from 'node:path';
import { type ContainerdBinaries, findOrBuildContainerd24 } from '@node-agent/tools-containerd';
import { ControlPlane, findControlPlane, findUpstreamKubelet } from '@node-agent/tools-control-plane';
import type { BenchNodePlan } from './bench-node.ts';
import { BUILT_KUBELET, subnetsForPods } from './command.ts';

/** What a comparison of both kubelets is told. */
export interface SideBySideOptions {
  /** Turns of each kubelet. */
  readonly rounds: number;
  /** The Go kubelet is left out. */
  readonly alone: boolean;
  /** Where CPU profiles of this kubelet are kept; absent: there are none. */
  readonly profiles?: string | undefined;
  /** This kubelet; as it was built last where absent. */
  readonly kubelet?: string;
}

/** What one turn is taken with. */
export interface TurnPlan extends BenchNodePlan {
  readonly binaries: ContainerdBinaries;
}

/** What turns of both kubelets came to, in the order in which they were taken. */
export interface SideBySide<T> {
  readonly ours: readonly T[];
  readonly go: readonly T[];
}

/**
 * Has turns of both kubelets taken, one after the other, each with a node of its own in one private cluster.
 * @param directory for all of it
 * @throws Error where a program is not there and cannot be built
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
