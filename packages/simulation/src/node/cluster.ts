import type { HttpTransport } from '@node-agent/fake-apiserver';
import { RestClient } from '@node-agent/kube-client';
import type { ClusterPart } from '@node-agent/kubelet-assembly';
import { clusterPart } from '@node-agent/kubelet-assembly/cluster';
import type { Logger } from '@node-agent/telemetry';
import type { ClusterApi } from '../world/cluster-api.ts';
import { guardedTransport } from './guarded-ports.ts';
import type { Lease } from './lease.ts';

const MACHINE = {
  ...{ machineId: 'machine', systemUuid: 'system', bootId: 'boot', kernelVersion: '6.1', osImage: 'Linux' },
  ...{ memoryBytes: 2 ** 34, swapBytes: 0, hugePages: [] },
};
type HugePages = readonly { readonly pageSizeBytes: number; readonly count: number }[];

const ADDRESS = '192.0.2.10';

/** Returns the connection of a kubelet to the simulated cluster. The connection stops working when the lease ends. */
export function clusterOf(
  lease: Lease,
  api: ClusterApi,
  logger: Logger,
  machine: { readonly cpuCount: number; readonly memoryBytes?: number; readonly hugePages?: HugePages },
  change: (request: HttpTransport['request']) => HttpTransport['request'] = (request) => request,
): ClusterPart {
  const transport = guardedTransport(lease, { request: change(api.transport.request) });
  const { clock } = lease;
  const client = (timeoutMs: number): RestClient => new RestClient({ transport, clock, logger }, { timeoutMs });
  return clusterPart(
    {
      requests: client(65_000),
      heartbeats: client(10_000),
      machine: {
        machine: async () => ({ ...MACHINE, ...machine }),
        network: async () => ({ hostAddresses: [ADDRESS], namedAddresses: [], defaultAddress: ADDRESS }),
        ephemeralStorageBytes: async () => 2 ** 36,
      },
    },
    {
      node: { hostname: 'node', kubeletVersion: 'v1.36.3+node-agent.0.0.0', architecture: 'amd64' },
      leaseDurationSeconds: 40,
      changeDetection: 'Watch',
    },
  );
}
