import { isIPv6 } from 'node:net';
import { formatPod, type Pod, type PodDnsConfig } from '@node-agent/pod-spec';
import { fitDnsLimits } from './dns-limits.ts';
import { type DnsConfig, optionName } from './resolv-conf.ts';

/** The node's settings for name resolution. */
export interface NodeDns {
  /** The content of the node's resolver file. `undefined` if the node is configured without one. */
  readonly host: DnsConfig | undefined;
  /** The addresses of the cluster's name servers. Empty on a standalone node. */
  readonly clusterDns: readonly string[];
  /** DNS domain of the cluster; '' if there is none. */
  readonly clusterDomain: string;
  /** The node's addresses. If `host` is undefined, they decide between `127.0.0.1` and `::1`. */
  readonly nodeIps: readonly string[];
}

/** A warning for the user: an event on the pod, and also on the node if `onNode` is set. */
interface DnsWarning {
  readonly reason: 'DNSConfigForming' | 'MissingClusterDNS';
  readonly message: string;
  readonly onNode?: string;
}

/** A pod's resolver settings and the warnings about them. */
export interface PodDns {
  readonly config: DnsConfig;
  readonly warnings: readonly DnsWarning[];
}

/**
 * Returns the resolver settings of a pod by its `dnsPolicy` and `dnsConfig` (`GetPodDNS`,
 * `pkg/kubelet/network/dns/dns.go`). An unknown policy counts as `ClusterFirst`. `ClusterFirst` counts as `Default` on
 * the host network and, with a warning, if the cluster has no name server.
 */
export function podDns(pod: Pod, node: NodeDns): PodDns {
  const warnings: DnsWarning[] = [];
  const base = baseConfig(pod, node, warnings);
  const fitted = fitDnsLimits(pod.spec.dnsConfig ? merge(base, pod.spec.dnsConfig) : base);
  for (const message of fitted.warnings) warnings.push({ reason: 'DNSConfigForming', message });
  return { config: fitted.config, warnings };
}

function baseConfig(pod: Pod, node: NodeDns, warnings: DnsWarning[]): DnsConfig {
  const { dnsPolicy, hostNetwork } = pod.spec;
  if (dnsPolicy === 'None') return { servers: [], searches: [], options: [] };
  if (dnsPolicy === 'Default' || (dnsPolicy === 'ClusterFirst' && hostNetwork)) return hostConfig(node);
  if (node.clusterDns.length === 0) {
    const onNode =
      'kubelet does not have ClusterDNS IP configured and cannot create Pod using "ClusterFirst" policy. ' +
      'Falling back to "Default" policy.';
    warnings.push({
      reason: 'MissingClusterDNS',
      message: `pod: ${JSON.stringify(formatPod(pod))}. ${onNode}`,
      onNode,
    });
    return hostConfig(node);
  }
  const { clusterDomain, host } = node;
  const searches = host?.searches ?? [];
  const clusterSearches = [`${pod.metadata.namespace}.svc.${clusterDomain}`, `svc.${clusterDomain}`, clusterDomain];
  return {
    servers: node.clusterDns,
    searches: clusterDomain === '' ? searches : unique([...clusterSearches, ...searches]),
    options: ['ndots:5'],
  };
}

function hostConfig(node: NodeDns): DnsConfig {
  if (node.host) return node.host;
  // Without a resolver file, a loopback name server keeps the runtime from inserting its own default.
  const servers = node.nodeIps.map((ip) => (isIPv6(ip) ? '::1' : '127.0.0.1'));
  return { servers: servers.length > 0 ? servers : ['127.0.0.1'], searches: ['.'], options: [] };
}

function merge(base: DnsConfig, extra: PodDnsConfig): DnsConfig {
  const options = new Map(base.options.map((option) => [optionName(option), option]));
  for (const { name, value } of extra.options ?? []) {
    if (name) options.set(name, value ? `${name}:${value}` : name);
  }
  return {
    servers: unique([...base.servers, ...(extra.nameservers ?? [])]),
    searches: unique([...base.searches, ...(extra.searches ?? [])]),
    options: [...options.values()],
  };
}

function unique(values: readonly string[]): readonly string[] {
  return [...new Set(values)];
}
