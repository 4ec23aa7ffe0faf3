import { type Field, field, inert, supported, warn } from './field.ts';
import {
  atLeast,
  BOOLEAN,
  DURATION,
  INT32,
  INT64,
  list,
  map,
  notEmpty,
  notNegative,
  object,
  positiveDuration,
  STRING,
} from './types.ts';

/** Fields of pod sources, sync intervals and pod limits. */
export const podFields: readonly Field[] = [
  field({
    name: 'staticPodPath',
    type: STRING,
    default: '',
    isPath: true,
    flag: 'pod-manifest-path',
    doc: 'Path of a static pod manifest, or of a directory of manifests. Empty: no static pods from files.',
  }),
  field({
    name: 'fileCheckFrequency',
    type: DURATION,
    default: '20s',
    zeroIsUnset: true,
    flag: 'file-check-frequency',
    check: positiveDuration,
    doc: 'Interval at which the manifests of staticPodPath are read again. Changes that the file system reports are read immediately.',
  }),
  field({
    name: 'staticPodURL',
    type: STRING,
    default: '',
    flag: 'manifest-url',
    doc: 'URL that serves manifests of static pods. Empty: no static pods from HTTP.',
  }),
  field({
    name: 'staticPodURLHeader',
    type: map(list(STRING)),
    default: {},
    isSecret: true,
    flag: { name: 'manifest-url-header', syntax: 'headers' },
    doc: 'HTTP headers sent with each request to staticPodURL. Their values are never logged.',
  }),
  field({
    name: 'httpCheckFrequency',
    type: DURATION,
    default: '20s',
    zeroIsUnset: true,
    flag: 'http-check-frequency',
    check: positiveDuration,
    doc: 'Interval at which staticPodURL is requested.',
  }),
  field({
    name: 'syncFrequency',
    type: DURATION,
    default: '1m0s',
    zeroIsUnset: true,
    flag: 'sync-frequency',
    check: positiveDuration,
    doc: 'Longest time between two syncs of a pod without events.',
  }),
  field({
    name: 'maxPods',
    type: INT32,
    default: 110,
    zeroIsUnset: true,
    flag: 'max-pods',
    check: notNegative,
    doc: 'Maximum number of pods on this node.',
  }),
  field({
    name: 'podsPerCore',
    type: INT32,
    default: 0,
    flag: 'pods-per-core',
    check: notNegative,
    doc: 'Maximum number of pods per CPU core; maxPods still applies. 0: no limit per core.',
  }),
  field({
    name: 'podPidsLimit',
    type: INT64,
    default: -1,
    flag: 'pod-max-pids',
    doc: 'Maximum number of processes in a pod. -1: the limit of the node. No effect if cgroupsPerQOS is false.',
  }),
  field({
    name: 'runOnce',
    type: BOOLEAN,
    default: false,
    flag: 'runonce',
    check: (value) =>
      value === true ? 'must be false: the run-once mode is deprecated and cannot be enabled' : undefined,
    support: supported,
    doc: 'Formerly: start the static pods, then exit. The value true is refused, as in upstream.',
  }),
  field({
    name: 'crashLoopBackOff',
    default: {},
    type: object('CrashLoopBackOffConfiguration', 'Back-off of containers that keep failing.', [
      field({
        name: 'maxContainerRestartPeriod',
        type: DURATION,
        optional: true,
        doc: 'Longest back-off between two starts of a container: 1s to 300s. Needs the feature gate KubeletCrashLoopBackOffMax, with a default of 300s.',
      }),
    ]),
    doc: 'Back-off of containers that keep failing.',
  }),
  field({
    name: 'registerNode',
    type: BOOLEAN,
    default: true,
    flag: 'register-node',
    doc: 'Whether the kubelet registers its node with the API server. No effect without --kubeconfig.',
  }),
  field({
    name: 'seccompDefault',
    type: BOOLEAN,
    default: false,
    flag: { name: 'seccomp-default', deprecated: false, syntax: 'onlyTrueCounts' },
    doc: 'Whether containers without a seccomp profile run with RuntimeDefault instead of Unconfined.',
  }),
  field({
    name: 'allowedUnsafeSysctls',
    type: list(STRING),
    default: [],
    flag: 'allowed-unsafe-sysctls',
    doc: 'Unsafe sysctls, or patterns that end in `*`, that pods may set.',
  }),
  field({
    name: 'userNamespaces',
    optional: true,
    type: object('UserNamespacesConfiguration', 'User namespaces of pods.', [
      field({
        name: 'idsPerPod',
        type: INT64,
        optional: true,
        doc: 'Number of user and group IDs of each pod with a user namespace: a multiple of 65536. Unset: 65536.',
      }),
    ]),
    doc: 'User namespaces of pods.',
  }),
];

/** Fields of DNS and pod networks, including leftovers of dockershim. */
export const networkFields: readonly Field[] = [
  field({
    name: 'clusterDomain',
    type: STRING,
    default: '',
    flag: 'cluster-domain',
    doc: 'DNS domain of the cluster, searched before the search domains of the host.',
  }),
  field({
    name: 'clusterDNS',
    type: list(STRING),
    default: [],
    flag: 'cluster-dns',
    doc: "IP addresses of the cluster's DNS servers, for pods with dnsPolicy ClusterFirst.",
  }),
  field({
    name: 'resolvConf',
    type: STRING,
    default: '/etc/resolv.conf',
    isPath: true,
    flag: 'resolv-conf',
    doc: 'Resolver file that the DNS settings of pods are based on. Empty: pods get no DNS settings from the host.',
  }),
  field({
    name: 'podCIDR',
    type: STRING,
    default: '',
    flag: 'pod-cidr',
    doc: 'Range of pod IP addresses that a standalone kubelet (without an API server) sends to the runtime. Empty: none is sent.',
  }),
  field({
    name: 'hairpinMode',
    type: { kind: 'enum', typeName: 'HairpinMode', values: ['promiscuous-bridge', 'hairpin-veth', 'none'] },
    default: 'promiscuous-bridge',
    zeroIsUnset: true,
    flag: 'hairpin-mode',
    check: notEmpty,
    support: inert('CNI plugins, not the kubelet, configure pod interfaces'),
    doc: 'How a pod can reach itself through its Service.',
  }),
  field({
    name: 'makeIPTablesUtilChains',
    type: BOOLEAN,
    default: true,
    flag: 'make-iptables-util-chains',
    support: warn('the chain is not created yet', { accepted: [false] }),
    doc: 'Whether the kubelet creates the chain KUBE-IPTABLES-HINT, which shows other programs the iptables variant in use.',
  }),
  field({
    name: 'iptablesMasqueradeBit',
    type: INT32,
    default: 14,
    check: (value) => bit(value),
    support: inert('deprecated'),
    doc: 'Formerly the bit of the packet mark for masquerading.',
  }),
  field({
    name: 'iptablesDropBit',
    type: INT32,
    default: 15,
    check: (value) => bit(value),
    support: inert('deprecated'),
    doc: 'Formerly the bit of the packet mark for dropping.',
  }),
];

function bit(value: unknown): string | undefined {
  return typeof value === 'number' && value >= 0 && value <= 31 ? undefined : 'must be between 0 and 31, inclusive';
}

/** Fields of the container runtime. */
export const runtimeFields: readonly Field[] = [
  field({
    name: 'containerRuntimeEndpoint',
    type: STRING,
    default: 'unix:///run/containerd/containerd.sock',
    zeroIsUnset: true,
    flag: 'container-runtime-endpoint',
    check: notEmpty,
    doc: "Socket of the container runtime's CRI server.",
  }),
  field({
    name: 'imageServiceEndpoint',
    type: STRING,
    default: '',
    flag: 'image-service-endpoint',
    doc: 'Socket of the CRI image service. Empty: containerRuntimeEndpoint.',
  }),
  field({
    name: 'runtimeRequestTimeout',
    type: DURATION,
    default: '2m0s',
    zeroIsUnset: true,
    flag: 'runtime-request-timeout',
    check: positiveDuration,
    doc: 'Deadline of requests to the runtime. Image pulls, logs, exec and attach have no deadline or one of their own.',
  }),
  field({
    name: 'cpuCFSQuota',
    type: BOOLEAN,
    default: true,
    flag: 'cpu-cfs-quota',
    doc: 'Whether CPU limits are enforced with CFS quotas.',
  }),
  field({
    name: 'cpuCFSQuotaPeriod',
    type: DURATION,
    default: '100ms',
    flag: 'cpu-cfs-quota-period',
    doc: 'Period of CFS quotas: 1ms to 1s. A value other than 100ms needs the feature gate CustomCPUCFSQuotaPeriod.',
  }),
];

/** Fields of container logs. */
export const logFields: readonly Field[] = [
  field({
    name: 'podLogsDir',
    type: STRING,
    default: '/var/log/pods',
    zeroIsUnset: true,
    isPath: true,
    doc: "Root of the pods' log directories: an absolute, normalised ASCII path.",
  }),
  field({
    name: 'containerLogMaxSize',
    type: { kind: 'bytes' },
    default: '10Mi',
    zeroIsUnset: true,
    flag: 'container-log-max-size',
    doc: 'Size at which a container log is rotated. Negative: logs are not rotated.',
  }),
  field({
    name: 'containerLogMaxFiles',
    type: INT32,
    default: 5,
    flag: 'container-log-max-files',
    check: atLeast(2),
    doc: 'Number of log files per container, including the current one: 2 or more.',
  }),
  field({
    name: 'containerLogMaxWorkers',
    type: INT32,
    default: 1,
    check: atLeast(1),
    doc: 'Number of logs that are rotated in parallel.',
  }),
  field({
    name: 'containerLogMonitorInterval',
    type: DURATION,
    default: '10s',
    check: (value) => (typeof value === 'number' && value >= 3000 ? undefined : 'must be 3s or longer'),
    doc: 'Interval at which the sizes of container logs are checked: 3s or longer.',
  }),
];
