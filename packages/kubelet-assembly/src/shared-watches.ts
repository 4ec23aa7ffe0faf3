import { TaskGroup } from '@node-agent/async';
import { PartitionedReflector, type ReflectorComponents, resources, SharedReflector } from '@node-agent/kube-client';
import type { Node } from '@node-agent/node-status';
import type { Pod } from '@node-agent/pod-spec';
import type { CSIDriver } from '@node-agent/pod-spec/api';
import { watchedCsiDrivers } from './cluster-csi.ts';
import type { ClusterWatches } from './cluster-ports.ts';
import { type Service, watchedServices } from './cluster-services.ts';
import { sharingEqualParts } from './sharing-equal-parts.ts';

/**
 * Watches that all kubelets of one process share. There is one watch each for pods, nodes, services and CSIDrivers,
 * instead of four watches per kubelet. The client of these watches needs the permission to list and watch the pods and
 * nodes of the whole cluster, which a node does not have.
 */
export class SharedWatches {
  readonly #pods: PartitionedReflector<Pod>;
  readonly #nodes: PartitionedReflector<Node>;
  readonly #services: SharedReflector<Service>;
  readonly #csiDrivers: SharedReflector<CSIDriver>;

  constructor(components: ReflectorComponents) {
    this.#pods = new PartitionedReflector<Pod>(components, {
      resource: resources.pods,
      fieldSelector: 'spec.nodeName!=',
      transform: leanVersion,
      partitionOf: ({ spec }) => spec.nodeName ?? '',
    });
    this.#nodes = new PartitionedReflector<Node>(components, {
      resource: resources.nodes,
      transform: leanVersion,
      partitionOf: ({ metadata }) => metadata.name ?? '',
    });
    this.#services = new SharedReflector(components, watchedServices);
    this.#csiDrivers = new SharedReflector(components, watchedCsiDrivers);
  }

  /**
   * Returns the watches of one kubelet, for `ClusterPorts.watched`. The watches end with the kubelet. After that, they
   * may be requested again for the node.
   * @throws Error if the node's watches are already in use
   */
  of(nodeName: string): ClusterWatches {
    return {
      pods: this.#pods.partition(nodeName),
      node: this.#nodes.partition(nodeName),
      services: this.#services.view(),
      csiDrivers: this.#csiDrivers.view(),
    };
  }

  /** Follows all collections until `signal` is aborted. The kubelets become ready only while this method runs. */
  async start(signal: AbortSignal): Promise<void> {
    const group = new TaskGroup(signal);
    for (const watched of [this.#pods, this.#nodes, this.#services, this.#csiDrivers]) {
      group.add((ending) => watched.start(ending));
    }
    await group.ended();
  }
}

/**
 * Transforms an object so that it takes less memory. The record of which client wrote which field is dropped, because
 * no kubelet reads it and it is half of a pod's JSON. Equal parts are shared with the previous version, because the
 * kubelet keeps several versions of a pod, and most differ only in their status.
 */
function leanVersion<T extends { readonly metadata: object }>(object: T, previous: T | undefined): T {
  const { managedFields: _written, ...metadata } = object.metadata as { readonly managedFields?: unknown };
  return sharingEqualParts(previous, { ...object, metadata });
}
