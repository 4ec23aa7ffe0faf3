export { FakeDevicePlugin, type FakeDevicePluginOptions } from './fake-device-plugin.ts';
export type {
  ContainerAllocateResponse,
  ContainerPreferredAllocationRequest,
  DevicePluginOptions,
} from './generated/types.ts';
