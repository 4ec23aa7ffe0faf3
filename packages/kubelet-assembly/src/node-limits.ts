import type { EvictionManager } from '@node-agent/eviction';
import type { ResourceListJson } from '@node-agent/pod-spec';
import type { ClusterNode } from './cluster-node.ts';
import type { NodeContainers } from './node-containers.ts';
import type { NodeImages } from './node-images.ts';
import type { NodeView } from './node-view.ts';
import type { AssemblySettings } from './ports.ts';

/** Settings that change while the kubelet runs. */
export interface NodeLimits extends Pick<AssemblySettings, 'imageGc'> {
  readonly logs: Omit<AssemblySettings['logs'], 'maxWorkers'>;
  readonly pulls: Pick<AssemblySettings['pulls'], 'qps' | 'burst'>;
  readonly eviction: Parameters<EvictionManager['update']>[0];
  readonly pods: Parameters<ClusterNode['setPodLimits']>[0];
  /** Allocatable resources of the node, used if the node has no API server. */
  readonly allocatable: ResourceListJson;
}

/** Components whose limits can change while the kubelet runs. */
interface LimitedParts {
  readonly containers: Pick<NodeContainers, 'logs'>;
  readonly images: Pick<NodeImages, 'setGcPolicy' | 'manager'>;
  readonly node: Pick<NodeView, 'setAllocatable'>;
  readonly eviction: Pick<EvictionManager, 'update'> | undefined;
  readonly clusterNode: Pick<ClusterNode, 'setPodLimits'> | undefined;
}

/**
 * Passes new limits to the components that enforce them.
 * @throws errors of a component that rejects a value; components that accepted their new values before the error keep
 * them
 */
export function setNodeLimits(
  { containers, images, node, eviction, clusterNode }: LimitedParts,
  limits: NodeLimits,
): void {
  eviction?.update(limits.eviction);
  images.setGcPolicy(limits.imageGc ?? {});
  images.manager.setPullRate(limits.pulls);
  containers.logs.update(limits.logs);
  node.setAllocatable(limits.allocatable);
  clusterNode?.setPodLimits(limits.pods);
}
