/** NUMA nodes from which a resource can be allocated. */
export interface TopologyHint {
  /** Sorted ascending; `undefined` means any nodes. */
  readonly nodes: readonly number[] | undefined;
  /** Whether no allocation from fewer nodes is possible on this machine. */
  readonly preferred: boolean;
}

/**
 * Hints of a provider by resource. `undefined` instead of hints: no preference. An empty list: the resource cannot be
 * allocated. An empty map: no preference for any resource.
 */
export type TopologyHints = ReadonlyMap<string, readonly TopologyHint[] | undefined>;
