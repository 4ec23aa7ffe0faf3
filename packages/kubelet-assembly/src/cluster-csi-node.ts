import { type Clock, withTimeout } from '@node-agent/async';
import type { CsiNodeApi } from '@node-agent/csi';
import { ifFound, type KubeClients, resources } from '@node-agent/kube-client';

/**
 * Timeout of each request, in milliseconds. Drivers are reported one after another, so a request without a response
 * would delay all further reports.
 */
const TIMEOUT_MS = 10_000;

type Client = Pick<KubeClients['requests'], 'get' | 'create' | 'update' | 'patch' | 'delete'>;

/**
 * Implements the port of `@node-agent/csi` with kube-client. A node may read and write only its own Node and CSINode.
 */
export function clusterCsiNode(clock: Clock, client: Client, name: string): CsiNodeApi {
  const limited = <T>(request: (limit: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<T> =>
    withTimeout(clock, TIMEOUT_MS, request, signal);
  return {
    getNode: (signal) => limited((limit) => client.get(resources.nodes, { name }, limit), signal),
    patchNode: (body, signal) =>
      limited(
        (limit) => client.patch(resources.nodes, { type: 'strategic', body }, { name, subresource: 'status' }, limit),
        signal,
      ),
    getCsiNode: (signal) => limited((limit) => ifFound(client.get(resources.csiNodes, { name }, limit)), signal),
    createCsiNode: (csiNode, signal) =>
      limited((limit) => client.create(resources.csiNodes, csiNode, {}, limit), signal),
    updateCsiNode: (csiNode, signal) =>
      limited((limit) => client.update(resources.csiNodes, csiNode, {}, limit), signal),
    deleteCsiNode: (signal) => limited((limit) => client.delete(resources.csiNodes, { name }, limit), signal),
  };
}
