import type { AdmitHandler, Kubelet } from '@node-agent/kubelet-core';
import type { PodWorkers } from '@node-agent/pod-workers';
import type { Prober } from '@node-agent/prober';
import type { VolumeManager } from '@node-agent/volumes';
import type { ClusterNode } from '../cluster-node.ts';
import type { PartComponents } from '../cluster-ports.ts';
import { Deferred } from '../deferred.ts';
import { PodLinks } from '../pod-links.ts';
import type { AssemblySettings, Decorations, NodePorts } from '../ports.ts';

/**
 * Parts that earlier stages call and later stages make. No part may use one while the kubelet is assembled: each part runs
 * only from `kubelet.run` on.
 */
interface LateParts {
  readonly prober: Deferred<Prober>;
  readonly volumes: Deferred<VolumeManager>;
  readonly admitHandlers: Deferred<readonly AdmitHandler[]>;
  /** Holds `undefined` if the node has no API server. */
  readonly clusterNode: Deferred<ClusterNode | undefined>;
  readonly workers: Deferred<PodWorkers>;
  readonly kubelet: Deferred<Kubelet<unknown>>;
}

/** The input of every stage: the world outside, the settings, and the parts that later stages make. */
export interface AssemblyBase<C = unknown> {
  readonly ports: NodePorts;
  readonly settings: AssemblySettings<C>;
  readonly decorations: Decorations;
  /** Returns the clock, randomness, metrics, events and a logger for the component with this name. */
  readonly child: (component: string) => PartComponents;
  readonly late: LateParts;
  readonly pods: PodLinks;
}

export function assemblyBase<C>(
  ports: NodePorts,
  settings: AssemblySettings<C>,
  decorations: Decorations,
): AssemblyBase<C> {
  const { clock, random, metrics, recorder, logger } = ports;
  const late: LateParts = {
    prober: new Deferred('the prober'),
    volumes: new Deferred('the volume manager'),
    admitHandlers: new Deferred('the list of admit handlers'),
    clusterNode: new Deferred('the cluster node'),
    workers: new Deferred('the pod workers'),
    kubelet: new Deferred('the kubelet'),
  };
  return {
    ports,
    settings,
    decorations,
    child: (component) => ({ clock, random, metrics, recorder, logger: logger.child({ component }) }),
    late,
    pods: new PodLinks(late.workers),
  };
}
