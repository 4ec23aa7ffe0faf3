import { readFile } from 'node:fs/promises';
import type { ContainerdBinaries } from '@node-agent/tools-containerd';
import type { ClusterBinaries } from '@node-agent/tools-control-plane';
import type { ClusterNetwork } from '../network.ts';

/** Input of the programs in namespaces. */
export interface Plan {
  readonly directory: string;
  readonly network: ClusterNetwork;
  readonly binaries: ClusterBinaries;
  readonly containerd: ContainerdBinaries;
  /** Command that starts the kubelet. */
  readonly kubelet: readonly string[];
  /** Whether the state of the cluster is kept, so that containers must end with their grace periods. */
  readonly keeps: boolean;
  /** Name servers for names outside of the cluster. */
  readonly nameServers: readonly string[];
}

/** Reads the plan that the command wrote for the programs in namespaces. */
export async function readPlan(file: string): Promise<Plan> {
  return JSON.parse(await readFile(file, 'utf8')) as Plan;
}
