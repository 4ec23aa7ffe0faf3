import { checkNumbers } from '@node-agent/async';
import type { RegistrationSettings } from './initial-node.ts';
import type { IpAddress } from './ip.ts';
import type { Taint } from './node.ts';
import { parseReservations, type Reservations } from './reservation.ts';
import type { StatusSettings } from './set-node-status.ts';

/** The options of a {@link NodeStatusManager}. Defaults are upstream's. */
export interface NodeStatusOptions {
  readonly nodeName: string;
  readonly hostname: string;
  /** `v1.36.3+node-agent.<version>`: the Kubernetes release whose behaviour this kubelet has, and its own version. */
  readonly kubeletVersion: string;
  /** The architecture of the machine with Go's name (see `goArchitecture`). */
  readonly architecture: string;
  /** The operating system with Go's name. Default: `linux`. */
  readonly operatingSystem?: string;
  /** Whether the kubelet creates its node. Default: true. */
  readonly registerNode?: boolean;
  readonly nodeLabels?: Readonly<Record<string, string>>;
  readonly taints?: readonly Taint[];
  readonly providerId?: string;
  /** Whether an external cloud provider manages the node (--cloud-provider=external). */
  readonly externalCloudProvider?: boolean;
  /** Whether the attach/detach controller attaches volumes to this node. Default: true. */
  readonly enableControllerAttachDetach?: boolean;
  /** The addresses of --node-ip (see `parseNodeIps`). */
  readonly nodeIps?: readonly IpAddress[];
  /** The maximum number of pods. Default: 110. */
  readonly maxPods?: number;
  readonly podsPerCore?: number;
  /** The resources that are reserved for the system and the kubelet (see `parseReservations`). Default: none. */
  readonly reservations?: Reservations;
  /** Whether ephemeral storage is reported. Default: true. */
  readonly localStorageCapacityIsolation?: boolean;
  /** The maximum number of images in the status. -1: all. Default: 50. */
  readonly maxImages?: number;
  /** The port of the kubelet's HTTPS server. Default: 10250. */
  readonly kubeletPort?: number;
  /** Returns whether a feature gate is enabled. Default: no gate is enabled. */
  readonly gateEnabled?: (gate: string) => boolean;
  /**
   * Reports whether the machine was rebuilt, so that extended resources of an existing node must be set to 0. Default:
   * false.
   */
  readonly resetExtendedResources?: () => boolean | Promise<boolean>;
  /** How often the status is computed, and sent if it changed. Default: 10 s. */
  readonly updateFrequencyMs?: number;
  /** How often a status is sent even if it is unchanged. Default: 5 min. */
  readonly reportFrequencyMs?: number;
  /** The timeout of an API request, in milliseconds. Default: 10,000, as for upstream's heartbeat client. */
  readonly requestTimeoutMs?: number;
  /**
   * How long an update of the node status waits for a source of data that does not respond, in milliseconds. After
   * that, the source's previous value is used. Default: 5,000.
   */
  readonly factPatienceMs?: number;
  /**
   * How long the machine has been up, in milliseconds. Without this time, metrics that count from the boot are not
   * reported.
   */
  readonly uptimeMs?: number;
}

/** The options with defaults applied. */
export type NodeStatusSettings = StatusSettings &
  RegistrationSettings &
  Required<
    Pick<
      NodeStatusOptions,
      'registerNode' | 'resetExtendedResources' | 'updateFrequencyMs' | 'reportFrequencyMs' | 'requestTimeoutMs'
    >
  > & { readonly factPatienceMs: number } & Pick<NodeStatusOptions, 'uptimeMs'>;

/** Returns the options with defaults applied. @throws RangeError that names the invalid option */
export function settingsOf(options: NodeStatusOptions): NodeStatusSettings {
  const settings: NodeStatusSettings = {
    operatingSystem: 'linux',
    registerNode: true,
    nodeLabels: {},
    taints: [],
    providerId: '',
    externalCloudProvider: false,
    enableControllerAttachDetach: true,
    nodeIps: [],
    maxPods: 110,
    podsPerCore: 0,
    reservations: parseReservations({ kubeReserved: {}, systemReserved: {}, evictionHard: {} }),
    localStorageCapacityIsolation: true,
    maxImages: 50,
    kubeletPort: 10_250,
    gateEnabled: () => false,
    resetExtendedResources: () => false,
    updateFrequencyMs: 10_000,
    reportFrequencyMs: 300_000,
    requestTimeoutMs: 10_000,
    factPatienceMs: 5_000,
    ...options,
  };
  checkNumbers(settings, {
    maxPods: 'count',
    podsPerCore: 'count',
    maxImages: 'whole',
    kubeletPort: 'port',
    updateFrequencyMs: 'positive',
    reportFrequencyMs: 'positive',
    requestTimeoutMs: 'positive',
    factPatienceMs: 'notNegative',
  });
  return settings;
}
