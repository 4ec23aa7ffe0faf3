export { ClusterKubelet, type ClusterKubeletOptions } from './cluster/cluster-kubelet.ts';
export { RuntimeSide } from './runtime-side.ts';
export { freeSubnets } from './subnets.ts';
export { sleep, until } from './waiting.ts';
