export type { NetworkFacts } from './addresses.ts';
export { nodeAllocatable } from './allocatable.ts';
export {
  type CapacityFacts,
  type CapacitySettings,
  type DevicePluginResources,
  machineCapacity,
  nodeCapacity,
} from './capacity.ts';
export { declaredFeatures } from './declared-features.ts';
export type { ListedInterfaces } from './default-ip.ts';
export { NodeStatusError, type NodeStatusErrorCode } from './errors.ts';
export { type HostNetwork, readNetworkFacts } from './host-network.ts';
export { initialLabels, type RegistrationSettings } from './initial-node.ts';
export { InterfaceList } from './interface-list.ts';
export { type IpAddress, parseIp } from './ip.ts';
export { NODE_LEASE_NAMESPACE } from './lease.ts';
export { LocalNode, type LocalNodeComponents } from './local-node.ts';
export { type HugePages, isCpuSubset, type MachineInfo } from './machine-info.ts';
export { type MachineFiles, readMachineInfo } from './machine-reader.ts';
export type { Lease, Node, Taint } from './node.ts';
export type { NodeFactSources } from './node-facts.ts';
export type { NodeImage } from './node-images.ts';
export { type NodeIps, parseNodeIps } from './node-ips.ts';
export { NodeLease, type NodeLeaseComponents, type NodeLeaseOptions } from './node-lease.ts';
export { type NodeStatusComponents, NodeStatusManager } from './node-status-manager.ts';
export type { NodeStatusOptions } from './options.ts';
export type { LeaseClient, NodeClient, ReadOptions } from './ports.ts';
export type { PressureFacts } from './pressure.ts';
export type { ReadinessFacts } from './readiness.ts';
export {
  parseReservations,
  type ReservationSettings,
  type Reservations,
  reservationOfCapacity,
  reservationProblems,
  type Threshold,
} from './reservation.ts';
export { restLeaseClient, restNodeClient } from './rest-clients.ts';
export type { RuntimeFeatures, RuntimeHandler } from './runtime-features.ts';
export { goArchitecture, type RuntimeVersion } from './system-info.ts';
