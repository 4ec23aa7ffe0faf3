export {
  PodResourcesServer,
  type PodResourcesServerComponents,
  type PodResourcesServerOptions,
} from './pod-resources-server.ts';
export type { ClaimHoldings, DeviceHoldings, HeldMemory, PodProvider, ResourceHoldings } from './ports.ts';
