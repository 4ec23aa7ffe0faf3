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
  /** Go's name: see `goArchitecture`. */
  readonly architecture: string;
  /** Default: `linux`. */
  readonly operatingSystem?: string;
  /** Whether the kubelet creates its node. Default: true. */
  readonly registerNode?: boolean;
  readonly nodeLabels?: Readonly<Record<string, string>>;
  readonly taints?: readonly Taint[];
  readonly providerId?: string;
  /** --cloud-provider=external. */
  readonly externalCloudProvider?: boolean;
  /** Default: true. */
  readonly enableControllerAttachDetach?: boolean;
  /** See `parseNodeIps`. */
  readonly nodeIps?: readonly IpAddress[];
  /** Default: 110. */
  readonly maxPods?: number;
  readonly podsPerCore?: number;
  /** See `parseReservations`. Default: no reservations. */
  readonly reservations?: Reservations;
  /** Default: true. */
  readonly localStorageCapacityIsolation?: boolean;
  /** -1: all. Default: 50. */
  readonly maxImages?: number;
  /** Default: 10250. */
  readonly kubeletPort?: number;
  /** Returns whether a feature gate is enabled. Default: none is. */
  readonly gateEnabled?: (gate: string) => boolean;
  /**
   * Returns whether extended resources of an existing node are set to 0, because the machine was rebuilt. Default:
   * false.
   */
  readonly resetExtendedResources?: () => boolean | Promise<boolean>;
  /** How often the status is computed, and sent if it changed. Default: 10 s. */
  readonly updateFrequencyMs?: number;
  /** How often an unchanged status is sent. Default: 5 min. */
  readonly reportFrequencyMs?: number;
  /** The timeout of an API request, in milliseconds. Default: 10 s, as for upstream's heartbeat client. */
  readonly requestTimeoutMs?: number;
  /**
   * How long an update of the node status waits for a source of data that does not answer, in milliseconds. Then the
   * source's previous value is used. Default: 5 s.
   */
  readonly factPatienceMs?: number;
  /**
   * How long the machine has been up, in milliseconds. If absent, metrics that count from the boot are not reported.
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

/** @throws RangeError naming the invalid option */
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
