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

/** Where pods come from, how often the loop looks at them, and how many there may be. */
export const podFields: readonly Field[] = [
  field({
    name: 'staticPodPath',
    type: STRING,
    default: '',
    isPath: true,
    flag: 'pod-manifest-path',
    doc: 'A manifest of a static pod, or a directory of them. Empty: no static pods from files.',
  }),
  field({
    name: 'fileCheckFrequency',
    type: DURATION,
    default: '20s',
    zeroIsUnset: true,
    flag: 'file-check-frequency',
    check: positiveDuration,
    doc: 'How often the manifests of staticPodPath are read again, besides when they change.',
  }),
  field({
    name: 'staticPodURL',
    type: STRING,
    default: '',
    flag: 'manifest-url',
    doc: 'A URL that serves manifests of static pods. Empty: no static pods from HTTP.',
  }),
  field({
    name: 'staticPodURLHeader',
    type: map(list(STRING)),
    default: {},
    isSecret: true,
    flag: { name: 'manifest-url-header', syntax: 'headers' },
    doc: 'HTTP headers sent with each request for staticPodURL. Their values appear in no error and no log.',
  }),
  field({
    name: 'httpCheckFrequency',
    type: DURATION,
    default: '20s',
    zeroIsUnset: true,
    flag: 'http-check-frequency',
    check: positiveDuration,
    doc: 'How often staticPodURL is asked.',
  }),
  field({
    name: 'syncFrequency',
    type: DURATION,
    default: '1m0s',
    zeroIsUnset: true,
    flag: 'sync-frequency',
    check: positiveDuration,
    doc: 'The longest time between two syncs of a pod in which nothing happened.',
  }),
  field({
    name: 'maxPods',
    type: INT32,
    default: 110,
    zeroIsUnset: true,
    flag: 'max-pods',
    check: notNegative,
    doc: 'How many pods this node runs at most.',
  }),
  field({
    name: 'podsPerCore',
    type: INT32,
    default: 0,
    flag: 'pods-per-core',
    check: notNegative,
    doc: 'How many pods this node runs at most for each core; never more than maxPods. 0: no such limit.',
  }),
  field({
    name: 'podPidsLimit',
    type: INT64,
    default: -1,
    flag: 'pod-max-pids',
    doc: 'How many processes a pod may have. -1: as many as the node allows. Without effect where cgroupsPerQOS is false.',
  }),
  field({
    name: 'runOnce',
    type: BOOLEAN,
    default: false,
    flag: 'runonce',
    check: (value) =>
      value === true ? 'must be false: the run-once mode is deprecated and cannot be asked for' : undefined,
    support: supported,
    doc: 'Formerly: start the static pods, then exit. True is refused, as upstream refuses it.',
  }),
  field({
    name: 'crashLoopBackOff',
    default: {},
    type: object('CrashLoopBackOffConfiguration', 'How long a container that keeps failing waits for its next start.', [
      field({
        name: 'maxContainerRestartPeriod',
        type: DURATION,
        optional: true,
        doc: 'The longest back-off between two starts of a container: 1s to 300s. Default 300s where the feature gate KubeletCrashLoopBackOffMax is on; not allowed where it is off.',
      }),
    ]),
    doc: 'How long a container that keeps failing waits for its next start.',
  }),
  field({
    name: 'registerNode',
    type: BOOLEAN,
    default: true,
    flag: 'register-node',
    doc: 'Whether the kubelet registers its node with the API server. Without --kubeconfig there is nothing to register with, and both values mean the same.',
  }),
  field({
    name: 'seccompDefault',
    type: BOOLEAN,
    default: false,
    flag: { name: 'seccomp-default', deprecated: false, syntax: 'onlyTrueCounts' },
    doc: 'Whether a container that names no seccomp profile runs with RuntimeDefault rather than Unconfined.',
  }),
  field({
    name: 'allowedUnsafeSysctls',
    type: list(STRING),
    default: [],
    flag: 'allowed-unsafe-sysctls',
    doc: 'Sysctls, or patterns of them that end in `*`, that pods may set although they are not safe.',
  }),
  field({
    name: 'userNamespaces',
    optional: true,
    type: object('UserNamespacesConfiguration', 'User namespaces of pods.', [
      field({
        name: 'idsPerPod',
        type: INT64,
        optional: true,
        doc: 'How many user and group IDs a pod with a user namespace gets: a multiple of 65536. Upstream uses 65536 where unset.',
      }),
    ]),
    doc: 'User namespaces of pods.',
  }),
];

/** What pods find on the network: names, DNS, and the remains of dockershim. */
export const networkFields: readonly Field[] = [
  field({
    name: 'clusterDomain',
    type: STRING,
    default: '',
    flag: 'cluster-domain',
    doc: "The cluster's DNS domain, searched before the host's.",
  }),
  field({
    name: 'clusterDNS',
    type: list(STRING),
    default: [],
    flag: 'cluster-dns',
    doc: "IP addresses of the cluster's DNS servers, given to pods with dnsPolicy ClusterFirst.",
  }),
  field({
    name: 'resolvConf',
    type: STRING,
    default: '/etc/resolv.conf',
    isPath: true,
    flag: 'resolv-conf',
    doc: "The resolver file that pods' DNS settings start from. Empty: pods get no DNS settings from the host.",
  }),
  field({
    name: 'podCIDR',
    type: STRING,
    default: '',
    flag: 'pod-cidr',
    doc: 'The range of pod IP addresses of a kubelet that has no API server: the runtime is told. Empty: it is told none.',
  }),
  field({
    name: 'hairpinMode',
    type: { kind: 'enum', typeName: 'HairpinMode', values: ['promiscuous-bridge', 'hairpin-veth', 'none'] },
    default: 'promiscuous-bridge',
    zeroIsUnset: true,
    flag: 'hairpin-mode',
    check: notEmpty,
    support: inert('CNI plugins, not the kubelet, set pod interfaces up'),
    doc: 'How a pod reaches itself through its service.',
  }),
  field({
    name: 'makeIPTablesUtilChains',
    type: BOOLEAN,
    default: true,
    flag: 'make-iptables-util-chains',
    support: warn('the hint chain is not created yet', { accepted: [false] }),
    doc: 'Whether the kubelet creates the chain KUBE-IPTABLES-HINT, which tells others the flavour of iptables in use.',
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

/** What the kubelet asks of the container runtime. */
export const runtimeFields: readonly Field[] = [
  field({
    name: 'containerRuntimeEndpoint',
    type: STRING,
    default: 'unix:///run/containerd/containerd.sock',
    zeroIsUnset: true,
    flag: 'container-runtime-endpoint',
    check: notEmpty,
    doc: "The socket of the container runtime's CRI server.",
  }),
  field({
    name: 'imageServiceEndpoint',
    type: STRING,
    default: '',
    flag: 'image-service-endpoint',
    doc: 'The socket of the CRI image service. Empty: containerRuntimeEndpoint.',
  }),
  field({
    name: 'runtimeRequestTimeout',
    type: DURATION,
    default: '2m0s',
    zeroIsUnset: true,
    flag: 'runtime-request-timeout',
    check: positiveDuration,
    doc: 'The deadline of a request to the runtime; pulls, logs, exec and attach have none or one of their own.',
  }),
  field({
    name: 'cpuCFSQuota',
    type: BOOLEAN,
    default: true,
    flag: 'cpu-cfs-quota',
    doc: 'Whether CPU limits become CFS quotas.',
  }),
  field({
    name: 'cpuCFSQuotaPeriod',
    type: DURATION,
    default: '100ms',
    flag: 'cpu-cfs-quota-period',
    doc: 'The period of CFS quotas: 1ms to 1s. A value other than 100ms needs the feature gate CustomCPUCFSQuotaPeriod.',
  }),
];

/** Container logs. */
export const logFields: readonly Field[] = [
  field({
    name: 'podLogsDir',
    type: STRING,
    default: '/var/log/pods',
    zeroIsUnset: true,
    isPath: true,
    doc: "The root of pods' log directories: absolute, normalised, ASCII.",
  }),
  field({
    name: 'containerLogMaxSize',
    type: { kind: 'bytes' },
    default: '10Mi',
    zeroIsUnset: true,
    flag: 'container-log-max-size',
    doc: 'The size at which a container log is rotated. Negative: logs are not rotated.',
  }),
  field({
    name: 'containerLogMaxFiles',
    type: INT32,
    default: 5,
    flag: 'container-log-max-files',
    check: atLeast(2),
    doc: 'How many log files a container keeps, the one written to included: 2 or more.',
  }),
  field({
    name: 'containerLogMaxWorkers',
    type: INT32,
    default: 1,
    check: atLeast(1),
    doc: 'How many logs are rotated at a time.',
  }),
  field({
    name: 'containerLogMonitorInterval',
    type: DURATION,
    default: '10s',
    check: (value) => (typeof value === 'number' && value >= 3000 ? undefined : 'must be 3s or longer'),
    doc: 'How often container logs are measured: 3s or longer.',
  }),
];
