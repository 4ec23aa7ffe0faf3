import type { ContainerStats, FsStats, NodeStats, PodStats } from '@node-agent/contracts';

/** The part of a `/stats/summary` response (`NodeSummary`) that eviction reads. Counts are whole numbers. */
export interface EvictionSummary {
  readonly node: EvictionNodeStats;
  readonly pods: readonly EvictionPodStats[];
}

export interface EvictionNodeStats extends Pick<NodeStats, 'memory' | 'fs' | 'runtime' | 'rlimit'> {
  readonly systemContainers?: readonly EvictionContainerStats[];
}

export interface EvictionPodStats extends Pick<PodStats, 'podRef' | 'memory' | 'ephemeral-storage' | 'process_stats'> {
  readonly containers?: readonly EvictionContainerStats[];
  readonly volume?: readonly (FsStats & { readonly name?: string })[];
}

export type EvictionContainerStats = Pick<ContainerStats, 'name' | 'memory' | 'rootfs' | 'logs'>;

export type { FsStats, MemoryStats } from '@node-agent/contracts';

/** Returns whether a value is present, a whole number and not negative. */
export function isCount(value: number | undefined): value is number {
  return value !== undefined && Number.isSafeInteger(value) && value >= 0;
}
