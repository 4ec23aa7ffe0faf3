import type { CSINode } from '@node-agent/pod-spec/api';
import type { NodeMetadata, NodeMetadataPatch } from './node-metadata.ts';

/**
 * The calls of the API server that {@link CsiNodeInfo} makes, all about this node. Every method rejects if the API
 * server does not respond within a time limit, which the implementation sets.
 */
export interface CsiNodeApi {
  /** Reads the Node from the API server, not from a cache. */
  getNode(signal: AbortSignal): Promise<{ readonly metadata: NodeMetadata }>;
  /** Sends a strategic merge patch to the subresource `status` of the Node. */
  patchNode(
    patch: { readonly metadata: NodeMetadataPatch & { readonly uid?: string } },
    signal: AbortSignal,
  ): Promise<unknown>;
  /** Reads the CSINode of this node; returns `undefined` if there is none. */
  getCsiNode(signal: AbortSignal): Promise<CSINode | undefined>;
  createCsiNode(csiNode: CSINode, signal: AbortSignal): Promise<unknown>;
  /** Replaces the CSINode of this node. Rejects if the object was changed since it was read. */
  updateCsiNode(csiNode: CSINode, signal: AbortSignal): Promise<unknown>;
  deleteCsiNode(signal: AbortSignal): Promise<unknown>;
}
