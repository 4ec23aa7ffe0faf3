import { ClusterNode } from './cluster-node.ts';
import { ClusterObjects } from './cluster-objects.ts';
import type { ClusterPart } from './cluster-part.ts';
import type { ClusterPorts, ClusterSettings } from './cluster-ports.ts';

export { apiReviewer } from './api-reviewer.ts';
export type { CsiDriverObjects } from './cluster-csi.ts';
export type { Service } from './cluster-services.ts';
export { SharedWatches } from './shared-watches.ts';

/**
 * Creates `NodePorts.cluster`, which makes a kubelet the node of a cluster. This module is an entry point of its own,
 * so that a kubelet without an API server does not load its code.
 */
export function clusterPart(ports: ClusterPorts, settings: ClusterSettings): ClusterPart {
  return {
    objects: (child, node, hooks) => new ClusterObjects(child, ports, { ...settings, ...node }, hooks),
    node: (child, { nodeName }, parts) => new ClusterNode(child, ports, { ...settings, nodeName }, parts),
  };
}
