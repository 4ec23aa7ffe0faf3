export { NetworkError, type NetworkErrorCode } from './errors.ts';
export { PodNetwork, type PodNetworkComponents, type PodNetworkOptions } from './pod-network.ts';
export type { DnsConfig } from './resolv-conf.ts';
