/** Addresses and files of CoreDNS. */
export interface DnsPlaces {
  readonly address: string;
  readonly kubeconfig: string;
  /** `host:port` that serves `/ready` when all names are known. */
  readonly ready: string;
}

/**
 * Returns CoreDNS's configuration. The configuration follows `cluster/addons/dns/coredns` of the Kubernetes release,
 * but refuses names outside the cluster instead of forwarding them.
 */
export function corefile({ address, kubeconfig, ready }: DnsPlaces): string {
  return [
    'cluster.local:53 in-addr.arpa:53 {',
    `    bind ${address}`,
    '    errors',
    `    ready ${ready}`,
    '    kubernetes cluster.local in-addr.arpa {',
    `        kubeconfig ${kubeconfig}`,
    '        pods insecure',
    '    }',
    '}',
    '',
  ].join('\n');
}
