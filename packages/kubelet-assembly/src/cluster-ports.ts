import type { Clock, Random } from '@node-agent/async';
import type { RestClient } from '@node-agent/kube-client';
import type { NodeFactSources, NodeStatusOptions } from '@node-agent/node-status';
import type { AccountSource, ChangeDetectionStrategy, NodeCredentials } from '@node-agent/object-cache';
import type { EventRecorder, Logger, Metrics } from '@node-agent/telemetry';
import type { ReportedAddress } from './node-changes.ts';

/** The API server of a cluster, as a kubelet in it needs it. */
export interface ClusterPorts {
  /** For pods, statuses, objects and tokens: limited by `kubeAPIQPS`. */
  readonly requests: Pick<
    RestClient,
    'get' | 'list' | 'watch' | 'create' | 'createSubresource' | 'patch' | 'delete' | 'getPath'
  >;
  /** For the node and its lease, without a limit and with connections of its own (N6). */
  readonly heartbeats: Pick<RestClient, 'get' | 'create' | 'update' | 'patch'>;
  /** Called when heartbeats fail again and again: connections may hang, and are to be dialled anew. */
  readonly closeConnections?: () => void;
  /** What the machine is, for the node's status. */
  readonly machine: Pick<NodeFactSources, 'machine' | 'network' | 'ephemeralStorageBytes'>;
  /** Called with the node's addresses, as the API server has them, whenever they may be others. */
  readonly onAddresses?: (addresses: readonly ReportedAddress[]) => void;
  /** Logins for images that the node itself has, beside those of pods. */
  readonly nodeCredentials?: (accounts: AccountSource) => NodeCredentials;
}

/** How a kubelet is a node of a cluster. */
export interface ClusterSettings {
  readonly node: Omit<NodeStatusOptions, 'nodeName'>;
  /** `nodeLeaseDurationSeconds`. */
  readonly leaseDurationSeconds: number;
  /** `configMapAndSecretChangeDetectionStrategy`. */
  readonly changeDetection: ChangeDetectionStrategy;
}

/** What each part is given, with a logger that names it. */
export interface PartComponents {
  readonly clock: Clock;
  readonly random: Random;
  readonly metrics: Metrics;
  readonly recorder: EventRecorder;
  readonly logger: Logger;
}
