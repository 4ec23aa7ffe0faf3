import type { Pod } from '@node-agent/pod-spec';

/** The path of the hosts file, in containers and on the node. */
export const HOSTS_PATH = '/etc/hosts';

const LOOPBACK = `127.0.0.1\tlocalhost
::1\tlocalhost ip6-localhost ip6-loopback
fe00::0\tip6-localnet
fe00::0\tip6-mcastprefix
fe00::1\tip6-allnodes
fe00::2\tip6-allrouters
`;

/**
 * Returns the hosts file of a pod that is not on the host network: each pod IP with the pod's FQDN and short name, then
 * its `hostAliases` (`managedHostsFileContent`, `pkg/kubelet/kubelet_pods.go`).
 */
export function managedHostsFile(pod: Pod, podIps: readonly string[], hostname: string, domain: string): string {
  const names = domain === '' ? hostname : `${hostname}.${domain}\t${hostname}`;
  const own = podIps.map((ip) => `${ip}\t${names}\n`).join('');
  return `# Kubernetes-managed hosts file.\n${LOOPBACK}${own}${aliases(pod)}`;
}

/**
 * Returns the hosts file of a pod on the host network: the node's file byte for byte, then the pod's `hostAliases`
 * (`nodeHostsFileContent`, `pkg/kubelet/kubelet_pods.go`).
 */
export function hostNetworkHostsFile(pod: Pod, nodeHosts: Uint8Array): Uint8Array {
  const header = Buffer.from('# Kubernetes-managed hosts file (host network).\n');
  return Buffer.concat([header, nodeHosts, Buffer.from(aliases(pod))]);
}

function aliases(pod: Pod): string {
  const entries = pod.spec.hostAliases ?? [];
  if (entries.length === 0) return '';
  const lines = entries.map(({ ip, hostnames }) => `${ip}\t${(hostnames ?? []).join('\t')}\n`);
  return `\n# Entries added by HostAliases.\n${lines.join('')}`;
}
