import { type RestClient, resources } from '@node-agent/kube-client';
import { NODE_LEASE_NAMESPACE } from './lease.ts';
import type { Node } from './node.ts';
import type { LeaseClient, NodeClient } from './ports.ts';

/**
 * Returns a {@link NodeClient} that sends its requests with kube-client. The argument should be the heartbeat client.
 * @param cachedNode returns the node from a watch, which saves a read every 10 s; if it returns `undefined`, the node
 * is read from the server
 */
export function restNodeClient(
  rest: Pick<RestClient, 'get' | 'create' | 'patch'>,
  cachedNode: (name: string) => Node | undefined = () => undefined,
): NodeClient {
  return {
    async getNode(name, { fresh }, signal) {
      const cached = fresh ? undefined : cachedNode(name);
      return cached ?? (await rest.get(resources.nodes, { name }, signal));
    },
    createNode: (node, signal) => rest.create(resources.nodes, node, {}, signal),
    patchNodeStatus: (name, body, signal) =>
      rest.patch(resources.nodes, { type: 'strategic', body }, { name, subresource: 'status' }, signal),
  };
}

/**
 * Returns a {@link LeaseClient} that sends its requests with kube-client. The argument should be the heartbeat client.
 */
export function restLeaseClient(rest: Pick<RestClient, 'get' | 'create' | 'update'>): LeaseClient {
  return {
    getLease: (name, signal) => rest.get(resources.leases, { name, namespace: NODE_LEASE_NAMESPACE }, signal),
    createLease: (lease, signal) => rest.create(resources.leases, lease, {}, signal),
    updateLease: (lease, signal) => rest.update(resources.leases, lease, {}, signal),
  };
}
