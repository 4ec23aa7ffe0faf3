/** Values that the kubelet configuration depends on. */
export interface ConfigurationFacts {
  readonly endpoint: string;
  readonly clientCaFile: string;
  /** IP address of the cluster DNS. */
  readonly dns: string;
  /** Feature gates that are enabled. */
  readonly gates: readonly string[];
}

/** Fields of the configuration that other code reads. */
export interface KubeletConfiguration {
  readonly staticPodPath: string;
  readonly [field: string]: unknown;
}

/**
 * Returns the configuration of every tested kubelet: upstream's defaults with the paths of this node, and without
 * features that the machine does not support.
 */
export function kubeletConfiguration({ endpoint, clientCaFile, dns, gates }: ConfigurationFacts): KubeletConfiguration {
  return {
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    containerRuntimeEndpoint: endpoint,
    staticPodPath: '/etc/kubernetes/manifests',
    authentication: {
      anonymous: { enabled: false },
      webhook: { enabled: true },
      x509: { clientCAFile: clientCaFile },
    },
    authorization: { mode: 'Webhook' },
    serverTLSBootstrap: true,
    rotateCertificates: false,
    clusterDNS: [dns],
    clusterDomain: 'cluster.local',
    cgroupDriver: 'cgroupfs',
    failSwapOn: false,
    failCgroupV1: false,
    maxPods: 250,
    // Image pulls are not rate-limited: otherwise specs would fail because all pulls come from one machine.
    registryPullQPS: 0,
    ...(gates.length > 0 && { featureGates: Object.fromEntries(gates.map((gate) => [gate, true])) }),
  };
}
