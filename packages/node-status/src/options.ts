import { checkNumbers } from '@node-agent/async';
import type { RegistrationSettings } from './initial-node.ts';
import type { IpAddress } from './ip.ts';
import type { Taint } from './node.ts';
import { parseReservations, type Reservations } from './reservation.ts';
import type { StatusSettings } from './set-node-status.ts';

/** What a {@link NodeStatusManager} is told of its node. Defaults are upstream's. */
export interface NodeStatusOptions {
  readonly nodeName: string;
  readonly hostname: string;
  /** `v1.36.3+node-agent.<version>`: the release of Kubernetes that this kubelet does as, and its own. */
  readonly kubeletVersion: string;
  /** As Go names it: see `goArchitecture`. */
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
  /** True where absent. */
  readonly enableControllerAttachDetach?: boolean;
  /** See `parseNodeIps`. */
  readonly nodeIps?: readonly IpAddress[];
  /** 110 where absent. */
  readonly maxPods?: number;
  readonly podsPerCore?: number;
  /** See `parseReservations`; nothing is kept back where absent. */
  readonly reservations?: Reservations;
  /** True where absent. */
  readonly localStorageCapacityIsolation?: boolean;
  /** 50 where absent; -1: all. */
  readonly maxImages?: number;
  /** 10250 where absent. */
  readonly kubeletPort?: number;
  /** Whether a feature gate is on; none is where absent. */
  readonly gateEnabled?: (gate: string) => boolean;
  /** Whether extended resources of a node that is there already are set to 0, because the machine was made anew; no where absent. */
  readonly resetExtendedResources?: () => boolean | Promise<boolean>;
  /** How often the status is computed, and sent where it changed. Default: 10 s. */
  readonly updateFrequencyMs?: number;
  /** How often a status that did not change is sent. Default: 5 min. */
  readonly reportFrequencyMs?: number;
  /** How long a request of the API server may take; 10 s where absent, as upstream's client for heartbeats. */
  readonly requestTimeoutMs?: number;
  /** How long a round waits for a fact that is slow. Default: 5 s. */
  readonly factPatienceMs?: number;
  /** For how long the machine has been up; the metrics that count from its boot are not there where absent. */
  readonly uptimeMs?: number;
}

/** The options with their defaults, as the rules want them. */
export type NodeStatusSettings = StatusSettings &
  RegistrationSettings &
  Required<
    Pick<
      NodeStatusOptions,
      'registerNode' | 'resetExtendedResources' | 'updateFrequencyMs' | 'reportFrequencyMs' | 'requestTimeoutMs'
    >
  > & { readonly factPatienceMs: number } & Pick<NodeStatusOptions, 'uptimeMs'>;

/** @throws RangeError naming the option that makes no sense */
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
