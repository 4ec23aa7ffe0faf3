export { type FakeClaim, type FakeDraCall, FakeDraPlugin, type FakeDraPluginOptions } from './fake-dra-plugin.ts';
export type { DeviceHealth, DeviceIdentifier, HealthStatus } from './generated/health/types.ts';
export type {
  Claim,
  Device,
  NodePrepareResourceResponse,
  NodeUnprepareResourceResponse,
} from './generated/v1/types.ts';
