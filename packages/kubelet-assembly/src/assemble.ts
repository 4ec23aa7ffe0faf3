import type { ContainerResources } from '@node-agent/cm-resources';
import type { DeviceManager } from '@node-agent/device-manager';
import type { DraManager } from '@node-agent/dra';
import type { EvictionManager } from '@node-agent/eviction';
import type { Kubelet } from '@node-agent/kubelet-core';
import type { PodCache } from '@node-agent/pleg';
import type { PodConfig } from '@node-agent/pod-config';
import type { PodRuntime } from '@node-agent/runtime';
import type { StatsProvider } from '@node-agent/stats';
import type { StatusManager } from '@node-agent/status';
import { type NodeLimits, setNodeLimits } from './node-limits.ts';
import { type NodeState, nodeState } from './node-state.ts';
import type { AssemblySettings, Decorations, NodePorts } from './ports.ts';
import { assemblyBase } from './stages/base.ts';
import { assembleCluster } from './stages/cluster.ts';
import { assembleKubeletCore } from './stages/kubelet.ts';
import { assembleResources } from './stages/resources.ts';
import { assembleRuntime } from './stages/runtime.ts';
import { assembleSources } from './stages/sources.ts';

/** A kubelet, and the components of it that a program or a test reads directly. */
export interface AssembledKubelet<C> {
  readonly kubelet: Kubelet<C>;
  readonly podConfig: PodConfig;
  readonly status: StatusManager;
  readonly podCache: PodCache;
  readonly runtime: PodRuntime;
  /** Stats of the node and its pods. `undefined` if `NodePorts.stats` is absent. */
  readonly stats: StatsProvider | undefined;
  /** Device manager. `undefined` if the node has no directory for device plugins. */
  readonly devices: DeviceManager | undefined;
  /** Manager of ResourceClaims. `undefined` if pods with ResourceClaims are rejected. */
  readonly claims: DraManager | undefined;
  /** CPU, memory and topology managers. `undefined` if the node has none of them. */
  readonly resourceManagers: ContainerResources | undefined;
  /** Eviction manager. `undefined` if the node evicts no pods. */
  readonly eviction: EvictionManager | undefined;
  /** The state of the node, from which its Node object is made. */
  readonly nodeState: NodeState;
  /** Changes limits while the kubelet runs. @throws errors of the component that rejects a value */
  setLimits(limits: NodeLimits): void;
}

/**
 * Creates all managers and connects them, in five stages. Each stage takes the output of the earlier stages. A
 * component that an earlier stage calls and a later stage creates is a `Deferred`. The assembly does no I/O: I/O starts
 * with `kubelet.run`.
 */
export function assembleKubelet<C>(
  ports: NodePorts,
  settings: AssemblySettings<C>,
  decorations: Decorations = {},
): AssembledKubelet<C> {
  const base = assemblyBase(ports, settings, decorations);
  const sources = assembleSources(base);
  const runtime = assembleRuntime(base, sources);
  const resources = assembleResources(base, sources, runtime);
  const state = nodeState({
    runtime: runtime.facts,
    kubelet: () => base.late.kubelet.value,
    csi: runtime.csi,
    ...resources,
  });
  const clusterNode = assembleCluster(base, sources, runtime, state);
  const kubelet = assembleKubeletCore(base, { sources, runtime, resources, clusterNode });
  const { podConfig, status } = sources;
  const { podCache, runtime: podRuntime } = runtime.containers;
  const { stats, eviction } = resources;
  const { devices, claims, resourceManagers } = runtime;
  return {
    ...{ kubelet, podConfig, status, podCache, runtime: podRuntime, stats, eviction },
    ...{ devices, claims, resourceManagers },
    nodeState: state,
    setLimits: (limits) => setNodeLimits({ ...runtime, eviction, clusterNode }, limits),
  };
}
