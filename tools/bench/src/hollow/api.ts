import { join } from 'node:path';
import {
  ControlPlane,
  type ControlPlaneOptions,
  findControlPlane,
  type ProcessName,
} from '@node-agent/tools-control-plane';
import { MemoryApi } from '../scale/memory-api.ts';
import type { HollowBenchOptions } from './options.ts';

/** An API server for hollow nodes. */
export interface HollowApi extends AsyncDisposable {
  readonly adminKubeconfig: string;
  /** Additional arguments for hollow-node. */
  readonly hollowArguments: readonly string[];
  /**
   * Returns the processes of the control plane whose CPU time is measured. Returns an empty list for the API server in
   * memory.
   */
  pids(): Promise<readonly number[]>;
}

/** Settings of an API server. */
type ApiOptions = Pick<HollowBenchOptions, 'memoryApi' | 'withoutScheduler'>;

/** Starts API servers, each with its data in a directory of its own below `directory`. */
export type StartApi = (directory: string) => Promise<HollowApi>;

/** Finds the programs of the control plane. @throws Error if they cannot be found or built */
export async function hollowApis(options: ApiOptions, say: (text: string) => void): Promise<StartApi> {
  if (options.memoryApi) return startMemoryApi;
  const found = await findControlPlane({ say });
  if ('reason' in found) throw new Error(found.reason);
  return (directory) => startControlPlane(found.binaries, directory, options);
}

/**
 * Arguments of the control plane. The arguments allow more concurrent requests than the defaults do, because all
 * clients and servers are on this one machine.
 */
const LARGE_CLUSTER: NonNullable<ControlPlaneOptions['extraArguments']> = {
  // The data are deleted after the run, and with fsync the etcds of one machine would wait for each other's writes.
  etcd: ['--unsafe-no-fsync', '--quota-backend-bytes=8589934592'],
  'kube-apiserver': ['--max-requests-inflight=3000', '--max-mutating-requests-inflight=1000'],
  'kube-controller-manager': ['--kube-api-qps=500', '--kube-api-burst=1000', '--concurrent-replicaset-syncs=20'],
  'kube-scheduler': ['--kube-api-qps=500', '--kube-api-burst=1000'],
};
const PROCESSES: readonly ProcessName[] = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler'];
/**
 * Time limit for the start of the control plane, in ms. The limit is long, because the processes start slowly on a busy
 * machine.
 */
const START_TIMEOUT_MS = 300_000;

async function startControlPlane(
  binaries: ControlPlaneOptions['binaries'],
  directory: string,
  { withoutScheduler }: ApiOptions,
): Promise<HollowApi> {
  const controlPlane = new ControlPlane({
    ...{ binaries, directory: join(directory, 'control-plane') },
    ...{ extraArguments: LARGE_CLUSTER, startTimeoutMs: START_TIMEOUT_MS },
  });
  await controlPlane.start();
  if (withoutScheduler) await controlPlane.killProcess('kube-scheduler', 'SIGTERM');
  return {
    adminKubeconfig: controlPlane.adminKubeconfig,
    hollowArguments: [],
    async pids() {
      const all = await Promise.all(PROCESSES.map((name) => controlPlane.pid(name)));
      return all.filter((pid) => pid !== undefined);
    },
    [Symbol.asyncDispose]: () => controlPlane.stop(),
  };
}

async function startMemoryApi(directory: string): Promise<HollowApi> {
  const api = await MemoryApi.start(directory);
  return {
    adminKubeconfig: api.adminKubeconfig,
    // The servers of the nodes are off: the API server in memory has no TLS and no client CA to authenticate their
    // clients with.
    hollowArguments: ['--port=0'],
    pids: async () => [],
    [Symbol.asyncDispose]: () => api[Symbol.asyncDispose](),
  };
}
