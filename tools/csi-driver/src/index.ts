export type { LoggedCall } from './call-log.ts';
export { cannotGrowExt, cannotMount } from './cannot-mount.ts';
export { findCsiSanity } from './csi-sanity.ts';
export { DriverProcess, type DriverProcessOptions, type VolumeWish } from './driver-process.ts';
export { controllerRpcs, nodeRpcs } from './generated/services.ts';
export { loopDevicesBelow, removeStorageLeftovers } from './leftovers.ts';
export { PROGRAM_FILES } from './program-files.ts';
