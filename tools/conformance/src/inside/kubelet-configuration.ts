/** What the configuration of a kubelet depends on. */
export interface ConfigurationFacts {
  readonly endpoint: string;
  readonly clientCaFile: string;
  /** The address that pods are told to ask for names. */
  readonly dns: string;
}

/** As much of a configuration as others look at. */
export interface KubeletConfiguration {
  readonly staticPodPath: string;
  readonly [field: string]: unknown;
}

/** The configuration that every kubelet gets: upstream's defaults, but for where it is and what the machine cannot do. */
export function kubeletConfiguration({ endpoint, clientCaFile, dns }: ConfigurationFacts): KubeletConfiguration {
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
    // Specs that take long should fail by what they are about, not by the speed at which one machine asks.
    registryPullQPS: 0,
  };
}
