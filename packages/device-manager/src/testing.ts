export { FakeDevicePlugin, type FakeDevicePluginOptions } from './fake-device-plugin.ts';
export type {
  CDIDevice,
  ContainerAllocateResponse,
  ContainerPreferredAllocationRequest,
  DevicePluginOptions,
  DeviceSpec,
  Mount,
} from './generated/types.ts';
