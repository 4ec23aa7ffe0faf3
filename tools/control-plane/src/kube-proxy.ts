/** Port of kube-proxy's `/healthz`, which is upstream's default. */
export const PROXY_HEALTH_PORT = 10_256;

/** Values of kube-proxy's configuration that differ between nodes. */
export interface KubeProxyOptions {
  readonly kubeconfig: string;
  readonly nodeName: string;
  /** Subnet of all pods. */
  readonly subnet: string;
  /** Address of the node's `/healthz`. Default: 127.0.0.1. */
  readonly healthAddress?: string;
}

/**
 * Returns upstream's defaults with the paths of a node in a network namespace. The size of the connection tracking table
 * is not set, because a network namespace cannot set it.
 */
export function kubeProxyConfiguration(options: KubeProxyOptions): object {
  const { kubeconfig, nodeName, subnet, healthAddress = '127.0.0.1' } = options;
  return {
    apiVersion: 'kubeproxy.config.k8s.io/v1alpha1',
    kind: 'KubeProxyConfiguration',
    mode: 'iptables',
    hostnameOverride: nodeName,
    clientConnection: { kubeconfig },
    clusterCIDR: subnet,
    detectLocalMode: 'ClusterCIDR',
    healthzBindAddress: `${healthAddress}:${PROXY_HEALTH_PORT}`,
    metricsBindAddress: '127.0.0.1:10249',
    conntrack: { maxPerCore: 0, min: 0, tcpEstablishedTimeout: '0s', tcpCloseWaitTimeout: '0s' },
    oomScoreAdj: 0,
  };
}
