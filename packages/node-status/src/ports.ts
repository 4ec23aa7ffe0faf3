import type { Lease, Node } from './node.ts';

/** Whether a read may be answered from a watch's cache. */
export interface ReadOptions {
  /** Ask the server itself: what is cached was not good enough. */
  readonly fresh: boolean;
}

/**
 * What the API server does for nodes. Failures are errors whose `code` is the server's reason (`NotFound`, `AlreadyExists`,
 * `Forbidden`, `Conflict`, ...), as kube-client's `KubeError` has it. Use the client for heartbeats, which has no rate limit.
 */
export interface NodeClient {
  getNode(name: string, options: ReadOptions, signal: AbortSignal): Promise<Node>;
  createNode(node: Node, signal: AbortSignal): Promise<Node>;
  /** A strategic merge patch of the subresource `status`, which takes labels and annotations too. */
  patchNodeStatus(name: string, patch: object, signal: AbortSignal): Promise<Node>;
}

/** What the API server does for leases, in the namespace `kube-node-lease`. Errors as with {@link NodeClient}. */
export interface LeaseClient {
  getLease(name: string, signal: AbortSignal): Promise<Lease>;
  createLease(lease: Lease, signal: AbortSignal): Promise<Lease>;
  /** Replaces the lease; `Conflict` where its `resourceVersion` is not the newest. */
  updateLease(lease: Lease, signal: AbortSignal): Promise<Lease>;
}
