import type { ClusterNode, NodeParts } from './cluster-node.ts';
import type { ClusterObjects, ObjectHooks } from './cluster-objects.ts';
import type { PartComponents } from './cluster-ports.ts';

/**
 * Creates the components that communicate with the API server. `clusterPart` of `./cluster` returns an implementation.
 */
export interface ClusterPart {
  objects(
    child: (component: string) => PartComponents,
    node: { readonly syncFrequencyMs: number; readonly nodeName: string },
    hooks: ObjectHooks,
  ): ClusterObjects;
  node(
    child: (component: string) => PartComponents,
    node: { readonly nodeName: string },
    parts: NodeParts,
  ): ClusterNode;
}
