export type { ContainerDevices } from './container-devices.ts';
export type { Device, DevicesByNuma } from './device.ts';
export {
  DeviceManager,
  type DeviceManagerComponents,
  type DeviceManagerOptions,
  type DevicePods,
  type DeviceVerdict,
} from './device-manager.ts';
export type { DeviceResources } from './device-resources.ts';
export { DeviceError, type DeviceErrorCode } from './errors.ts';
export type { DeviceWait, NotedWait } from './noted-wait.ts';
