import type { Support } from '../schema/field.ts';
import { inert, refuse, supported } from '../schema/field.ts';

/** How the text of a flag becomes a value. */
type FlagType = 'boolean' | 'integer' | 'string' | 'duration' | 'labels' | 'version';

/** A flag that is not a field of the configuration. */
export interface KubeletFlag {
  /** Without dashes. */
  readonly name: string;
  readonly shorthand?: string;
  /** The property of {@link KubeletFlags}; a duration's ends in `Ms`. Missing where upstream ignores the flag too. */
  readonly property?: string;
  readonly type: FlagType;
  /** As text, the way the command line would give it. */
  readonly default: string;
  readonly doc: string;
  /** What upstream prints after "Flag --x has been deprecated, ". */
  readonly deprecated?: string;
  readonly support: Support;
}

const USE_EVICTION = 'Use --eviction-hard or --eviction-soft instead. Will be removed in a future version.';
const CADVISOR =
  'This is a cadvisor flag that was mistakenly registered with the Kubelet. Due to legacy concerns, it will follow the standard CLI deprecation timeline before being removed.';
const NO_CADVISOR = 'it belongs to cAdvisor, which is not used';

/** The flags of the kubelet beside those that mirror a field (cmd/kubelet/app/options, 1.36). */
export const kubeletFlags: readonly KubeletFlag[] = [
  {
    name: 'config',
    property: 'config',
    type: 'string',
    default: '',
    support: supported,
    doc: 'The configuration file. Relative to the working directory. Flags override what it sets.',
  },
  {
    name: 'config-dir',
    property: 'configDir',
    type: 'string',
    default: '',
    support: supported,
    doc: 'A directory of drop-in files that override the configuration file. Files that end in .conf are read, in lexical order, subdirectories included.',
  },
  {
    name: 'strict-config',
    property: 'strictConfig',
    type: 'boolean',
    default: 'false',
    support: supported,
    doc: 'Whether unknown fields, duplicate keys, documents after the first and invalid clusterDNS entries stop the kubelet. They are warnings otherwise.',
  },
  {
    name: 'kubeconfig',
    property: 'kubeconfig',
    type: 'string',
    default: '',
    support: supported,
    doc: 'How to reach the API server. Without it the kubelet runs alone.',
  },
  {
    name: 'bootstrap-kubeconfig',
    property: 'bootstrapKubeconfig',
    type: 'string',
    default: '',
    support: supported,
    doc: 'How to reach the API server for a first client certificate, where the file of --kubeconfig does not exist.',
  },
  {
    name: 'hostname-override',
    property: 'hostnameOverride',
    type: 'string',
    default: '',
    support: supported,
    doc: "The node's name. Empty: the host's.",
  },
  {
    name: 'node-ip',
    property: 'nodeIp',
    type: 'string',
    default: '',
    support: supported,
    doc: "The node's IP address, or two of them with a comma, one of each family. Empty: the default IPv4 address, else the default IPv6 one.",
  },
  {
    name: 'cert-dir',
    property: 'certDir',
    type: 'string',
    default: '/var/lib/kubelet/pki',
    support: supported,
    doc: 'Where the TLS certificates are, whatever --root-dir is. A directory with certificates of another node is refused.',
  },
  {
    name: 'cloud-provider',
    property: 'cloudProvider',
    type: 'string',
    default: '',
    support: supported,
    doc: 'external where a cloud controller manager completes the node; else empty.',
  },
  {
    name: 'root-dir',
    property: 'rootDir',
    type: 'string',
    default: '/var/lib/kubelet',
    support: supported,
    doc: "Where the kubelet keeps its files: pods' directories, volumes, plugins. Locked: a second kubelet on it is refused.",
  },
  {
    name: 'node-labels',
    property: 'nodeLabels',
    type: 'labels',
    default: '',
    support: supported,
    doc: 'Labels of the node at its registration: key=value, with commas between. In the namespaces kubernetes.io and k8s.io only those for kubelets.',
  },
  {
    name: 'lock-file',
    property: 'lockFile',
    type: 'string',
    default: '',
    support: refuse('no lock file is taken yet'),
    doc: 'A file that only one kubelet at a time may lock.',
  },
  {
    name: 'exit-on-lock-contention',
    property: 'exitOnLockContention',
    type: 'boolean',
    default: 'false',
    support: refuse('no lock file is taken yet'),
    doc: 'Whether the kubelet exits when another one opens the lock file. Needs --lock-file.',
  },
  {
    name: 'runtime-cgroups',
    property: 'runtimeCgroups',
    type: 'string',
    default: '',
    support: supported,
    doc: "The runtime's cgroup, for its figures.",
  },
  {
    name: 'image-credential-provider-config',
    property: 'imageCredentialProviderConfig',
    type: 'string',
    default: '',
    support: supported,
    doc: 'The configuration of credential provider plugins: a file, or a directory of them.',
  },
  {
    name: 'image-credential-provider-bin-dir',
    property: 'imageCredentialProviderBinDir',
    type: 'string',
    default: '',
    support: supported,
    doc: 'Where credential provider plugins are.',
  },
  {
    name: 'minimum-container-ttl-duration',
    property: 'minimumContainerTtlMs',
    type: 'duration',
    default: '0s',
    deprecated: USE_EVICTION,
    support: supported,
    doc: 'How long a dead container is kept at least.',
  },
  {
    name: 'maximum-dead-containers-per-container',
    property: 'maximumDeadContainersPerContainer',
    type: 'integer',
    default: '1',
    deprecated: USE_EVICTION,
    support: supported,
    doc: 'How many dead instances of a container are kept.',
  },
  {
    name: 'maximum-dead-containers',
    property: 'maximumDeadContainers',
    type: 'integer',
    default: '-1',
    deprecated: USE_EVICTION,
    support: supported,
    doc: 'How many dead containers are kept in all. Negative: no limit.',
  },
  {
    name: 'experimental-mounter-path',
    property: 'experimentalMounterPath',
    type: 'string',
    default: '',
    deprecated: 'will be removed in 1.25 or later. in favor of using CSI.',
    support: refuse('volumes are mounted with the mount of the host'),
    doc: 'A program that mounts volumes. Empty: the one of the host.',
  },
  {
    name: 'experimental-allocatable-ignore-eviction',
    property: 'experimentalAllocatableIgnoreEviction',
    type: 'boolean',
    default: 'false',
    deprecated: 'will be removed in 1.25 or later.',
    support: supported,
    doc: 'Whether hard eviction thresholds are left out of allocatable resources.',
  },
  {
    name: 'version',
    property: 'version',
    type: 'version',
    default: 'false',
    support: supported,
    doc: 'Prints the version and exits; raw prints more of it; vX.Y.Z is refused.',
  },
  {
    name: 'help',
    shorthand: 'h',
    property: 'help',
    type: 'boolean',
    default: 'false',
    support: supported,
    doc: 'Prints the flags and exits.',
  },
  {
    name: 'all',
    property: 'all',
    type: 'boolean',
    default: 'false',
    support: supported,
    doc: 'With --help: prints the deprecated flags too.',
  },
  {
    name: 'housekeeping-interval',
    type: 'duration',
    default: '10s',
    support: inert(NO_CADVISOR),
    doc: 'How often cAdvisor looks at containers.',
  },
  ...cadvisor('integer', ['application-metrics-count-limit', '100']),
  ...cadvisor(
    'boolean',
    ['enable-load-reader', 'false'],
    ['log-cadvisor-usage', 'false'],
    ['storage-driver-secure', 'false'],
  ),
  ...cadvisor('duration', ['global-housekeeping-interval', '1m0s'], ['storage-driver-buffer-duration', '1m0s']),
  ...cadvisor(
    'string',
    ['boot-id-file', '/proc/sys/kernel/random/boot_id'],
    ['container-hints', '/etc/cadvisor/container_hints.json'],
    ['containerd', '/run/containerd/containerd.sock'],
    ['containerd-namespace', 'k8s.io'],
    ['event-storage-age-limit', 'default=0'],
    ['event-storage-event-limit', 'default=0'],
    ['machine-id-file', '/etc/machine-id,/var/lib/dbus/machine-id'],
    ['storage-driver-db', 'cadvisor'],
    ['storage-driver-host', 'localhost:8086'],
    ['storage-driver-password', 'root'],
    ['storage-driver-table', 'stats'],
    ['storage-driver-user', 'root'],
  ),
];

function cadvisor(type: FlagType, ...flags: readonly (readonly [string, string])[]): readonly KubeletFlag[] {
  return flags.map(([name, value]) => ({
    name,
    type,
    default: value,
    deprecated: CADVISOR,
    support: inert(NO_CADVISOR),
    doc: 'Has no effect: cAdvisor is not used.',
  }));
}
