import type { Clock, Random } from '@node-agent/async';
import type { RestClient, WatchedObjects } from '@node-agent/kube-client';
import type { Node, NodeFactSources, NodeStatusOptions } from '@node-agent/node-status';
import type { AccountSource, ChangeDetectionStrategy, NodeCredentials } from '@node-agent/object-cache';
import type { Pod } from '@node-agent/pod-spec';
import type { CSIDriver } from '@node-agent/pod-spec/api';
import type { EventRecorder, Logger, Metrics } from '@node-agent/telemetry';
import type { Service } from './cluster-services.ts';
import type { ReportedAddress } from './node-changes.ts';

/** Objects of the API server that a kubelet watches from its start. */
export interface ClusterWatches {
  /** The pods that are bound to the node. */
  readonly pods: WatchedObjects<Pod>;
  /** The Node object of this node, and no other. */
  readonly node: WatchedObjects<Node>;
  readonly services: WatchedObjects<Service>;
  readonly csiDrivers: WatchedObjects<CSIDriver>;
}

/** Connections to the API server that a kubelet needs. */
export interface ClusterPorts {
  /** Client for pods, statuses, objects and tokens, rate limited by `kubeAPIQPS`. */
  readonly requests: Pick<
    RestClient,
    | 'get'
    | 'list'
    | 'watch'
    | 'create'
    | 'createSubresource'
    | 'update'
    | 'patch'
    | 'delete'
    | 'deleteCollection'
    | 'getPath'
  >;
  /** Client for the node and its lease, without a rate limit and with its own connections (N6). */
  readonly heartbeats: Pick<RestClient, 'get' | 'create' | 'update' | 'patch'>;
  /** Watches that are shared with other kubelets, from `SharedWatches`. Default: watches of `requests`. */
  readonly watched?: ClusterWatches;
  /**
   * Called when heartbeats fail repeatedly. The program should then close its connections to the API server, because
   * they may hang.
   */
  readonly closeConnections?: () => void;
  /** Facts about the machine for the node's status. */
  readonly machine: Pick<NodeFactSources, 'machine' | 'network' | 'ephemeralStorageBytes'>;
  /** Called with the node's addresses in the API whenever they may have changed. */
  readonly onAddresses?: (addresses: readonly ReportedAddress[]) => void;
  /** Returns the node's own image pull credentials, in addition to those of pods. */
  readonly nodeCredentials?: (accounts: AccountSource) => NodeCredentials;
}

/** Settings of a kubelet that is a node of a cluster. */
export interface ClusterSettings {
  readonly node: Omit<NodeStatusOptions, 'nodeName'>;
  /** The configuration's `nodeLeaseDurationSeconds`. */
  readonly leaseDurationSeconds: number;
  /** The configuration's `configMapAndSecretChangeDetectionStrategy`. */
  readonly changeDetection: ChangeDetectionStrategy;
}

/** Components that every part of the kubelet needs. The logger names the part. */
export interface PartComponents {
  readonly clock: Clock;
  readonly random: Random;
  readonly metrics: Metrics;
  readonly recorder: EventRecorder;
  readonly logger: Logger;
}
