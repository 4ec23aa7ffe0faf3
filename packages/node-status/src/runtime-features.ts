import type { NodeStatus } from './node.ts';

/** A handler of the runtime and what it can do (CRI `StatusResponse.runtime_handlers`). */
export interface RuntimeHandler {
  /** Empty: the default handler. */
  readonly name: string;
  readonly recursiveReadOnlyMounts: boolean;
  readonly userNamespaces: boolean;
}

/** What the runtime can do, whatever the handler (CRI `StatusResponse.features`). */
export interface RuntimeFeatures {
  readonly supplementalGroupsPolicy: boolean;
  readonly userNamespacesHostNetwork?: boolean;
}

/** The handlers as the node shows them, by name, so that their order in the runtime's answer makes no change. */
export function nodeRuntimeHandlers(handlers: readonly RuntimeHandler[]): NonNullable<NodeStatus['runtimeHandlers']> {
  return [...handlers]
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .map(({ name, recursiveReadOnlyMounts, userNamespaces }) => ({
      name,
      features: { recursiveReadOnlyMounts, userNamespaces },
    }));
}

/** The runtime's features as the node shows them (KEP-3619); `undefined` where the runtime says nothing of them. */
export function nodeFeatures(features: RuntimeFeatures | undefined): NodeStatus['features'] | undefined {
  return features && { supplementalGroupsPolicy: features.supplementalGroupsPolicy };
}
