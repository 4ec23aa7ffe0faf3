// From packages/node-status/README.md, which explains the program.
import { nodeFileSystem } from '@node-agent/host';
import type { Lease, LeaseClient, Node, NodeClient } from '@node-agent/node-status';
import { NodeLease, NodeStatusManager, parseReservations, readMachineInfo } from '@node-agent/node-status';

// An API server in earnest; here one that keeps a node and a lease in memory.
const stored: { node?: Node; lease?: Lease } = {};
const notFound = () => Promise.reject(Object.assign(new Error('not found'), { code: 'NotFound' }));
const api: NodeClient & LeaseClient = {
  getNode: async () => stored.node ?? notFound(),
  createNode: async (node) => (stored.node = { ...node, metadata: { ...node.metadata, uid: 'u1' } }),
  patchNodeStatus: async (_name, patch) => (console.log('patch', JSON.stringify(patch)), stored.node ?? notFound()),
  getLease: async () => stored.lease ?? notFound(),
  createLease: async (lease) => (stored.lease = lease),
  updateLease: async (lease) => (stored.lease = lease),
};
const manager = new NodeStatusManager(
  {
    nodes: api,
    recorder: { event: (_object, type, reason, message) => console.log(type, reason, message) },
    sources: {
      machine: () => readMachineInfo(nodeFileSystem),
      network: async () => ({ hostAddresses: ['10.0.0.1'], namedAddresses: [], defaultAddress: '10.0.0.1' }),
      runtimeVersion: async () => ({ name: 'containerd', version: '2.1.9' }),
      images: async () => [],
      ephemeralStorageBytes: async () => 100 * 2 ** 30,
      readiness: () => ({ runtimeErrors: [], networkErrors: [] }),
    },
  },
  {
    nodeName: 'node-1',
    hostname: 'node-1',
    architecture: 'amd64',
    kubeletVersion: 'v1.36.3+node-agent.0.1.0',
    reservations: parseReservations({
      kubeReserved: { cpu: '100m' },
      systemReserved: {},
      evictionHard: { 'memory.available': '100Mi', 'nodefs.available': '10%' },
    }),
  },
);
const lease = new NodeLease({ nodes: api, leases: api }, { nodeName: 'node-1' });
const abort = new AbortController();
setTimeout(() => abort.abort(), 1000);
await Promise.all([manager.start(abort.signal), lease.start(abort.signal)]);
console.log(manager.node?.status?.addresses, manager.node?.status?.allocatable, stored.lease);
