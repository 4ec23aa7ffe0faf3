import type { Support } from '../schema/field.ts';
import { inert, refuse, supported } from '../schema/field.ts';

/** Type of a flag's value. */
type FlagType = 'boolean' | 'integer' | 'string' | 'duration' | 'labels' | 'version';

/** Flag that is not a field of the configuration. */
export interface KubeletFlag {
  /** Name without dashes. */
  readonly name: string;
  readonly shorthand?: string;
  /**
   * Name of the property in {@link KubeletFlags}; for a duration, the name ends in `Ms`. The property is absent for a
   * flag that has no effect, as in upstream.
   */
  readonly property?: string;
  readonly type: FlagType;
  /** Default as text of the command line. */
  readonly default: string;
  readonly doc: string;
  /** Upstream's text after "Flag --x has been deprecated, ". */
  readonly deprecated?: string;
  readonly support: Support;
}

const USE_EVICTION = 'Use --eviction-hard or --eviction-soft instead. Will be removed in a future version.';
const CADVISOR =
  'This is a cadvisor flag that was mistakenly registered with the Kubelet. Due to legacy concerns, it will follow the standard CLI deprecation timeline before being removed.';
const NO_CADVISOR = 'a flag of cAdvisor, which is not used';

/** Flags of the kubelet that do not mirror a field (cmd/kubelet/app/options, 1.36). */
export const kubeletFlags: readonly KubeletFlag[] = [
  {
    name: 'config',
    property: 'config',
    type: 'string',
    default: '',
    support: supported,
    doc: 'Configuration file, relative to the working directory. Flags override its values.',
  },
  {
    name: 'config-dir',
    property: 'configDir',
    type: 'string',
    default: '',
    support: supported,
    doc: 'Directory of drop-in files that override the configuration file. Files that end in .conf are read in lexical order, including subdirectories.',
  },
  {
    name: 'strict-config',
    property: 'strictConfig',
    type: 'boolean',
    default: 'false',
    support: supported,
    doc: 'Whether the kubelet refuses to start if there are unknown fields, duplicate keys, documents after the first or invalid clusterDNS entries. If false, they are warnings.',
  },
  {
    name: 'kubeconfig',
    property: 'kubeconfig',
    type: 'string',
    default: '',
    support: supported,
    doc: 'Kubeconfig file of the API server. Empty: the kubelet runs standalone.',
  },
  {
    name: 'bootstrap-kubeconfig',
    property: 'bootstrapKubeconfig',
    type: 'string',
    default: '',
    support: supported,
    doc: 'Kubeconfig file for requesting the first client certificate, used if the file of --kubeconfig does not exist.',
  },
  {
    name: 'hostname-override',
    property: 'hostnameOverride',
    type: 'string',
    default: '',
    support: supported,
    doc: 'Name of the node. Empty: the host name.',
  },
  {
    name: 'node-ip',
    property: 'nodeIp',
    type: 'string',
    default: '',
    support: supported,
    doc: 'IP address of the node, or one IPv4 and one IPv6 address separated by a comma. Empty: the default IPv4 address, else the default IPv6 address.',
  },
  {
    name: 'cert-dir',
    property: 'certDir',
    type: 'string',
    default: '/var/lib/kubelet/pki',
    support: supported,
    doc: 'Directory of the TLS certificates, independent of --root-dir. A directory with certificates of another node is refused.',
  },
  {
    name: 'cloud-provider',
    property: 'cloudProvider',
    type: 'string',
    default: '',
    support: supported,
    doc: 'external if a cloud controller manager completes the node, else empty.',
  },
  {
    name: 'root-dir',
    property: 'rootDir',
    type: 'string',
    default: '/var/lib/kubelet',
    support: supported,
    doc: 'Directory of the kubelet: pods, volumes, plugins, state. The kubelet locks it; a second kubelet with the same directory does not start.',
  },
  {
    name: 'admin-socket',
    property: 'adminSocket',
    type: 'string',
    default: '',
    support: supported,
    doc: 'Unix socket on which nodectl reaches this kubelet: an absolute path in a directory of mode 0700. The socket serves the paths of the secured port to root. Empty: no socket. Not a flag of the Go kubelet.',
  },
  {
    name: 'dashboard',
    property: 'dashboard',
    type: 'boolean',
    default: 'false',
    support: supported,
    doc: 'Whether a page about the node is served at /dashboard/ of the secured port, to users who may get nodes/proxy, and of the admin socket. Not a flag of the Go kubelet.',
  },
  {
    name: 'dashboard-port',
    property: 'dashboardPort',
    type: 'integer',
    default: '0',
    support: supported,
    doc: 'Port on 127.0.0.1 that serves the page about the node without TLS. Its address, which contains a secret, is in the file dashboard-url of --root-dir. 0: no port. Not a flag of the Go kubelet.',
  },
  {
    name: 'node-labels',
    property: 'nodeLabels',
    type: 'labels',
    default: '',
    support: supported,
    doc: 'Labels that the node gets at its registration: key=value, separated by commas. In the namespaces kubernetes.io and k8s.io only labels that kubelets may set.',
  },
  {
    name: 'lock-file',
    property: 'lockFile',
    type: 'string',
    default: '',
    support: supported,
    doc: 'File that only one kubelet at a time can lock. The kubelet waits until it has the lock. Empty: no file.',
  },
  {
    name: 'exit-on-lock-contention',
    property: 'exitOnLockContention',
    type: 'boolean',
    default: 'false',
    support: supported,
    doc: 'Whether the kubelet exits if another process waits for the lock, or the lock file is removed. Needs --lock-file.',
  },
  {
    name: 'runtime-cgroups',
    property: 'runtimeCgroups',
    type: 'string',
    default: '',
    support: supported,
    doc: 'Cgroup of the container runtime, for its stats.',
  },
  {
    name: 'image-credential-provider-config',
    property: 'imageCredentialProviderConfig',
    type: 'string',
    default: '',
    support: supported,
    doc: 'Configuration file of credential provider plugins, or a directory of such files.',
  },
  {
    name: 'image-credential-provider-bin-dir',
    property: 'imageCredentialProviderBinDir',
    type: 'string',
    default: '',
    support: supported,
    doc: 'Directory of credential provider plugins.',
  },
  {
    name: 'minimum-container-ttl-duration',
    property: 'minimumContainerTtlMs',
    type: 'duration',
    default: '0s',
    deprecated: USE_EVICTION,
    support: supported,
    doc: 'Minimum time that a dead container is kept.',
  },
  {
    name: 'maximum-dead-containers-per-container',
    property: 'maximumDeadContainersPerContainer',
    type: 'integer',
    default: '1',
    deprecated: USE_EVICTION,
    support: supported,
    doc: 'Maximum number of dead instances that are kept per container.',
  },
  {
    name: 'maximum-dead-containers',
    property: 'maximumDeadContainers',
    type: 'integer',
    default: '-1',
    deprecated: USE_EVICTION,
    support: supported,
    doc: 'Maximum number of dead containers that are kept on the node. Negative: no limit.',
  },
  {
    name: 'experimental-mounter-path',
    property: 'experimentalMounterPath',
    type: 'string',
    default: '',
    deprecated: 'will be removed in 1.25 or later. in favor of using CSI.',
    support: refuse('volumes are mounted with the mount command of the host'),
    doc: 'Program that mounts volumes. Empty: the mount command of the host.',
  },
  {
    name: 'experimental-allocatable-ignore-eviction',
    property: 'experimentalAllocatableIgnoreEviction',
    type: 'boolean',
    default: 'false',
    deprecated: 'will be removed in 1.25 or later.',
    support: supported,
    doc: 'Whether hard eviction thresholds are ignored in the calculation of allocatable resources.',
  },
  {
    name: 'version',
    property: 'version',
    type: 'version',
    default: 'false',
    support: supported,
    doc: 'Prints the version and exits. raw prints all parts of the version. vX.Y.Z is refused.',
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
    doc: 'Interval at which cAdvisor reads containers.',
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
