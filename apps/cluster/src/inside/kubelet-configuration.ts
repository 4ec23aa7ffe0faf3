/** Values of the kubelet's configuration that differ between clusters and nodes. */
export interface KubeletFacts {
  readonly nodeName: string;
  /** Endpoint of the container runtime. */
  readonly endpoint: string;
  readonly clientCaFile: string;
  /** Address of the cluster DNS. */
  readonly dnsAddress: string;
}

/**
 * Returns the configuration of a node's kubelet: upstream's defaults, adapted to a machine that also does other things.
 */
export function kubeletConfiguration({ nodeName, endpoint, clientCaFile, dnsAddress }: KubeletFacts): object {
  return {
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    containerRuntimeEndpoint: endpoint,
    authentication: {
      anonymous: { enabled: false },
      webhook: { enabled: true },
      x509: { clientCAFile: clientCaFile },
    },
    authorization: { mode: 'Webhook' },
    // The API server verifies the kubelet's serving certificate, so the cluster must sign it.
    serverTLSBootstrap: true,
    rotateCertificates: false,
    clusterDNS: [dnsAddress],
    clusterDomain: 'cluster.local',
    cgroupDriver: 'cgroupfs',
    // All nodes share one cgroup namespace, so each node has its own cgroup root.
    cgroupRoot: `/${nodeName}`,
    failSwapOn: false,
    failCgroupV1: false,
    healthzBindAddress: '127.0.0.1',
    // The disk of a workstation may be nearly full: with the default percentages, the node would reject every pod.
    evictionHard: {
      'memory.available': '100Mi',
      'nodefs.available': '1%',
      'imagefs.available': '1%',
      'nodefs.inodesFree': '1%',
    },
    // 100 turns image garbage collection off: imported images cannot be pulled again.
    imageGCHighThresholdPercent: 100,
    logging: { format: 'json' },
  };
}
