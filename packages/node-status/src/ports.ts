import type { Lease, Node } from './node.ts';

/** Whether a read may return a cached object. */
export interface ReadOptions {
  /** If true, the object is read from the API server even if it is cached. */
  readonly fresh: boolean;
}

/**
 * The API server's methods for nodes. Errors have the server's reason as `code` (`NotFound`, `AlreadyExists`,
 * `Forbidden`, `Conflict`, ...), as kube-client's `KubeError`. Use the heartbeat client, which has no rate limit.
 */
export interface NodeClient {
  getNode(name: string, options: ReadOptions, signal: AbortSignal): Promise<Node>;
  createNode(node: Node, signal: AbortSignal): Promise<Node>;
  /** Sends a strategic merge patch to the subresource `status`, which also accepts labels and annotations. */
  patchNodeStatus(name: string, patch: object, signal: AbortSignal): Promise<Node>;
}

/**
 * The API server's methods for leases in the namespace `kube-node-lease`. Errors have the server's reason as `code`, as
 * in {@link NodeClient}.
 */
export interface LeaseClient {
  getLease(name: string, signal: AbortSignal): Promise<Lease>;
  createLease(lease: Lease, signal: AbortSignal): Promise<Lease>;
  /** Replaces the lease. Fails with `Conflict` if its `resourceVersion` is not the newest. */
  updateLease(lease: Lease, signal: AbortSignal): Promise<Lease>;
}
