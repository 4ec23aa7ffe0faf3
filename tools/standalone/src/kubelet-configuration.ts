/** Values of the kubelet's configuration file that differ between runs. */
export interface KubeletSettings {
  readonly endpoint: string;
  readonly manifests: string;
  readonly podLogs: string;
  readonly resolvConf: string;
  readonly readOnlyPort: number;
  readonly healthzPort: number;
}

/**
 * Returns the kubelet's configuration file for a node without a cluster, which may share the machine with other
 * programs.
 */
export function kubeletConfiguration(settings: KubeletSettings): string {
  const text = (value: string): string => JSON.stringify(value);
  return `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
containerRuntimeEndpoint: ${text(settings.endpoint)}
staticPodPath: ${text(settings.manifests)}
podLogsDir: ${text(settings.podLogs)}
resolvConf: ${text(settings.resolvConf)}
readOnlyPort: ${settings.readOnlyPort}
healthzBindAddress: 127.0.0.1
healthzPort: ${settings.healthzPort}
logging:
  format: json
# Any machine will do: with swap, and with either version of cgroups, which are left to the runtime.
failSwapOn: false
makeIPTablesUtilChains: false
failCgroupV1: false
cgroupsPerQOS: false
enforceNodeAllocatable: []
# The disk of a workstation may be nearly full: with the default percentages, the node would reject every pod.
evictionHard:
  memory.available: 100Mi
  nodefs.available: 1%
  imagefs.available: 1%
  nodefs.inodesFree: 1%
# 100 turns image garbage collection off: images in the runtime may belong to the user.
imageGCHighThresholdPercent: 100
`;
}

/**
 * Returns the resolver configuration for pods. Pods cannot reach the stub resolver of systemd-resolved, which listens
 * on the node's loopback interface; if it is the only resolver, the file with the upstream servers is used.
 */
export function resolvConfOf(files: { readonly etcResolvConf: string; readonly hasSystemdResolved: boolean }): string {
  const servers = [...files.etcResolvConf.matchAll(/^\s*nameserver\s+(\S+)/gm)].map((match) => match[1] ?? '');
  const onlyStub = servers.length > 0 && servers.every((server) => server.startsWith('127.'));
  return onlyStub && files.hasSystemdResolved ? '/run/systemd/resolve/resolv.conf' : '/etc/resolv.conf';
}
