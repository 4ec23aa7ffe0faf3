import { ifFound, type KubeClients, resources } from '@node-agent/kube-client';
import type { ClaimSource } from '@node-agent/volumes';

/**
 * Reads PersistentVolumeClaims and PersistentVolumes of pods from the API server on demand. The node authorizer allows
 * a node to get the claims and volumes of its own pods, but not to list or watch them.
 */
export function clusterClaims(client: Pick<KubeClients['requests'], 'get' | 'patch'>): Omit<ClaimSource, 'nodeLabels'> {
  return {
    getClaim: (namespace, name, signal) =>
      ifFound(client.get(resources.persistentVolumeClaims, { namespace, name }, signal)),
    patchClaimStatus: (namespace, name, body, signal) =>
      client.patch(
        resources.persistentVolumeClaims,
        { type: 'merge', body },
        { namespace, name, subresource: 'status' },
        signal,
      ),
    getPersistentVolume: (name, signal) => ifFound(client.get(resources.persistentVolumes, { name }, signal)),
  };
}
