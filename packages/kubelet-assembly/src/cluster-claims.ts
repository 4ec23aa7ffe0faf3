import { ifFound, type KubeClients, resources } from '@node-agent/kube-client';
import type { ClaimSource } from '@node-agent/volumes';

/**
 * Claims of pods and their persistent volumes, from the API server, each when it is asked for: the node authorizer lets a node get
 * those of its own pods, and neither list nor watch them.
 */
export function clusterClaims(client: Pick<KubeClients['requests'], 'get'>): Omit<ClaimSource, 'nodeLabels'> {
  return {
    getClaim: (namespace, name, signal) =>
      ifFound(client.get(resources.persistentVolumeClaims, { namespace, name }, signal)),
    getPersistentVolume: (name, signal) => ifFound(client.get(resources.persistentVolumes, { name }, signal)),
  };
}
