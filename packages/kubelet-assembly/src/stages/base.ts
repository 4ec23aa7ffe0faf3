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
 * Components that earlier stages call and later stages create. None of them may be used during the assembly, because
 * components run only after `kubelet.run` was called.
 */
interface LateParts {
  readonly prober: Deferred<Prober>;
  readonly volumes: Deferred<VolumeManager>;
  readonly admitHandlers: Deferred<readonly AdmitHandler[]>;
  /** The node in its cluster. The value is `undefined` if the node has no API server. */
  readonly clusterNode: Deferred<ClusterNode | undefined>;
  readonly workers: Deferred<PodWorkers>;
  readonly kubelet: Deferred<Kubelet<unknown>>;
}

/** Input of every stage: the external ports, the settings, and the components that later stages create. */
export interface AssemblyBase<C = unknown> {
  readonly ports: NodePorts;
  readonly settings: AssemblySettings<C>;
  readonly decorations: Decorations;
  /**
   * Returns the common components for one part of the kubelet: clock, random source, metrics, events, and a logger with
   * the part's name.
   */
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
