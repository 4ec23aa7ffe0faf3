export type { CpuOptionGates } from './cpu/cpu-options.ts';
export { ContainerResourcesError, type ContainerResourcesErrorCode } from './errors.ts';
export type { MachineCore, MachineTopology, NodeHugePages, NumaNode } from './machine/machine-topology.ts';
export { readMachineTopology, type TopologyFiles } from './machine/read-topology.ts';
export {
  type ContainerPlacement,
  ContainerResources,
  type ContainerResourcesComponents,
  type ContainerResourcesOptions,
} from './manager/container-resources.ts';
export type { PolicyOptions } from './manager/policies.ts';
export type {
  AlignedDevices,
  NotedWait,
  ResourceContainers,
  ResourcePods,
  ResourceWait,
  RunningContainer,
  RunningPodContainer,
} from './manager/ports.ts';
export type { MemoryBlock } from './memory/memory-state.ts';
export type { NumaMemoryReservation } from './memory/reserved-memory.ts';
export type { ContainerRef } from './state/cpu-checkpoint.ts';
export type { StateFiles } from './state/state-file.ts';
export type { TopologyPolicyName, TopologyScope } from './topology/topology-options.ts';
