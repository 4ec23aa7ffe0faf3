export type { ContainerDevices } from './container-devices.ts';
export type { Device, DevicesByNuma } from './device.ts';
export {
  DeviceManager,
  type DeviceManagerComponents,
  type DeviceManagerOptions,
  type DevicePods,
  type DeviceResources,
  type DeviceVerdict,
} from './device-manager.ts';
export { DeviceError, type DeviceErrorCode } from './errors.ts';
