import type { ClaimSource, ResourceClaim, SliceRemoval } from '@node-agent/dra';
import { fieldSelector, ifFound, type KubeClients, type Resource } from '@node-agent/kube-client';

const resourceClaims: Resource<ResourceClaim> = {
  ...{ group: 'resource.k8s.io', version: 'v1', plural: 'resourceclaims', kind: 'ResourceClaim' },
  namespaced: true,
};

const resourceSlices: Resource<unknown> = {
  ...{ group: 'resource.k8s.io', version: 'v1', plural: 'resourceslices', kind: 'ResourceSlice' },
  namespaced: false,
};

/**
 * Reads the ResourceClaims of pods from the API server on demand. The node authorizer allows a node to get the claims
 * of its own pods, but not to list or watch them.
 */
export function clusterResourceClaims(client: Pick<KubeClients['requests'], 'get'>): ClaimSource {
  return {
    get: (namespace, name, signal) => ifFound(client.get(resourceClaims, { namespace, name }, signal)),
  };
}

/** Returns the port that deletes the ResourceSlices of a node: those of one driver, or all of them. */
export function clusterResourceSlices(
  client: Pick<KubeClients['requests'], 'deleteCollection'>,
  nodeName: string,
): SliceRemoval {
  return {
    async remove(driver, signal) {
      const fields = { 'spec.nodeName': nodeName, ...(driver !== undefined && { 'spec.driver': driver }) };
      await ifFound(client.deleteCollection(resourceSlices, { fieldSelector: fieldSelector(fields) }, signal));
    },
  };
}
