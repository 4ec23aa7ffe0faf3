export { Authority, type KeyPair, type Subject } from './authority.ts';
export {
  type ClusterBinaries,
  type ControlPlaneBinaries,
  type FindOptions,
  type Found,
  findCluster,
  findControlPlane,
  findUpstreamKubelet,
  missingClusterPrograms,
} from './binaries.ts';
export { type BuildTarget, buildTargets, releaseModule } from './build.ts';
export { ControlPlane, type ControlPlaneOptions } from './control-plane.ts';
export { bringCoreDns, COREDNS_VERSION, coreDnsFile } from './coredns.ts';
export { downloadPrograms, fetchChecked, type PublishedName } from './download.ts';
export { type KubeProxyOptions, kubeProxyConfiguration, PROXY_HEALTH_PORT } from './kube-proxy.ts';
export type { ProcessName } from './layout.ts';
export { findModuleProgram, type ModuleProgram } from './module-program.ts';
export { findOwnGoProgram, type OwnGoProgram } from './own-go-program.ts';
export { cannotAddAddress } from './service-address.ts';
export { approveServingRequests } from './serving-certificates.ts';
export { KUBERNETES_VERSION } from './versions.ts';
