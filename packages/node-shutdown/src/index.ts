export { DbusLogind, type DbusLogindComponents, type DbusLogindOptions } from './dbus-logind.ts';
export type { OverrideFiles } from './delay-override.ts';
export { NodeShutdownError, type NodeShutdownErrorCode } from './errors.ts';
export {
  gracePeriodsOf,
  migrateSettings,
  type PriorityGracePeriod,
  periodRequestedMs,
  type ShutdownSettings,
} from './grace-periods.ts';
export { gracePeriodSeconds, groupByPriority, type ShutdownGroup } from './groups.ts';
export type { Inhibitor, InhibitorLock, Logind, LogindSession } from './logind.ts';
export {
  type NodeShutdownComponents,
  NodeShutdownManager,
  type NodeShutdownOptions,
  type ShutdownAdmission,
} from './node-shutdown-manager.ts';
export type { ShutdownKill, ShutdownPods, ShutdownVolumes } from './ports.ts';
export type { StateFiles } from './state-file.ts';
export { SystemdInhibit, type SystemdInhibitOptions } from './systemd-inhibit.ts';
export { terminatedStatus } from './terminated-status.ts';
