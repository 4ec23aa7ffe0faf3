import type { NodeStatus } from './node.ts';

/** A runtime handler (the target of a RuntimeClass) and its features (CRI `StatusResponse.runtime_handlers`). */
export interface RuntimeHandler {
  /** The name of the handler. The name of the default handler is empty. */
  readonly name: string;
  readonly recursiveReadOnlyMounts: boolean;
  readonly userNamespaces: boolean;
}

/** The features of the runtime for all handlers (CRI `StatusResponse.features`). */
export interface RuntimeFeatures {
  readonly supplementalGroupsPolicy: boolean;
  readonly userNamespacesHostNetwork?: boolean;
}

/**
 * Returns the handlers for the node's status, sorted by name, so that the order in the runtime's response does not
 * matter.
 */
export function nodeRuntimeHandlers(handlers: readonly RuntimeHandler[]): NonNullable<NodeStatus['runtimeHandlers']> {
  return [...handlers]
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .map(({ name, recursiveReadOnlyMounts, userNamespaces }) => ({
      name,
      features: { recursiveReadOnlyMounts, userNamespaces },
    }));
}

/**
 * Returns the runtime's features for the node's status (KEP-3619), or `undefined` if the runtime does not report them.
 */
export function nodeFeatures(features: RuntimeFeatures | undefined): NodeStatus['features'] | undefined {
  return features && { supplementalGroupsPolicy: features.supplementalGroupsPolicy };
}
