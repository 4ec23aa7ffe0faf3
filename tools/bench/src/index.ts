export { ClusterKubelet, type ClusterKubeletOptions } from './cluster/cluster-kubelet.ts';
export { BUILT_KUBELET, inDirectoryOfItsOwn, runCommand, subnetsForPods } from './command.ts';
export { RuntimeSide } from './runtime-side.ts';
export { sleep, until } from './waiting.ts';
