export type { CgroupGroups, CgroupManager } from './cgroup-manager.ts';
export { CgroupsSystemd, type CgroupsSystemdComponents } from './cgroups-systemd.ts';
export { CgroupsV1 } from './cgroups-v1.ts';
export { CgroupsV2 } from './cgroups-v2.ts';
export { sharesToWeight, weightToShares } from './cpu-weight.ts';
export { CgroupError, type CgroupErrorCode } from './errors.ts';
export { type CgroupHierarchy, type CgroupV1Hierarchy, type CgroupV2Hierarchy, readHierarchy } from './hierarchy.ts';
export { type HugePageLimits, hugePageLimits } from './huge-pages.ts';
export type { CgroupComponents } from './manager-components.ts';
export type { MemoryReservationPolicy } from './memory-qos.ts';
export {
  type CgroupDriver,
  type CgroupName,
  cgroupfsPath,
  childName,
  driverPath,
  parseCgroupfsPath,
  parseSystemdPath,
  systemdPath,
} from './names.ts';
export { allocatableAbsolute, listResourceConfig } from './node-resources.ts';
export { openCgroups, openGroups } from './open-cgroups.ts';
export { PodCgroups, type PodCgroupsComponents, type PodCgroupsOptions } from './pod-cgroups.ts';
export { kubepodsName, podName, podUidOf, qosNames } from './pod-names.ts';
export { type PodLimitOptions, podResourceConfig } from './pod-resources.ts';
export { ProcessGroups, type ProcessGroupsComponents, type ProcessGroupsOptions } from './process-groups.ts';
export { type QosMemoryLimits, type QosMemoryReserve, qosMemoryLimits } from './qos-reserve.ts';
export { qosShares } from './qos-resources.ts';
export type { ReservedGroup } from './reserved-groups.ts';
export type { GroupLimits, ResourceConfig } from './resource-config.ts';
export {
  DbusSystemd,
  type DbusSystemdComponents,
  type DbusSystemdOptions,
  type SystemdEndpoint,
} from './systemd/dbus-systemd.ts';
export type { Systemd, UnitProperty } from './systemd/systemd.ts';
