/** NUMA nodes from which a resource can be allocated. */
export interface TopologyHint {
  /** NUMA nodes, sorted ascending; `undefined` means any nodes. */
  readonly nodes: readonly number[] | undefined;
  /** Whether no allocation from fewer nodes is possible on this machine. */
  readonly preferred: boolean;
}

/**
 * Hints of a provider by resource. `undefined` instead of a list means that the provider has no preference for the
 * resource. An empty list means that the resource cannot be allocated. An empty map means that the provider has no
 * preference for any resource.
 */
export type TopologyHints = ReadonlyMap<string, readonly TopologyHint[] | undefined>;
