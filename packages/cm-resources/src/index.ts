export { CpuSet } from './cpuset/cpu-set.ts';
export { ContainerResourcesError, type ContainerResourcesErrorCode } from './errors.ts';
export type { MachineCore, MachineTopology, NodeHugePages, NumaNode } from './machine/machine-topology.ts';
export { readMachineTopology, type TopologyFiles } from './machine/read-topology.ts';
export {
  type ContainerPlacement,
  ContainerResources,
  type ContainerResourcesComponents,
  type ContainerResourcesOptions,
  type StateFiles,
} from './manager/container-resources.ts';
export type { CpuOptionGates, PolicyOptions, TopologyPolicyName, TopologyScope } from './manager/policies.ts';
export type {
  AlignedDevices,
  ContainerRef,
  NotedWait,
  ResourceContainers,
  ResourcePods,
  ResourceWait,
  RunningContainer,
} from './manager/ports.ts';
export type { MemoryBlock } from './memory/memory-state.ts';
export type { NumaMemoryReservation } from './memory/reserved-memory.ts';
