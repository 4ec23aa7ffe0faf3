import type { Pod, PodStatus } from '@node-agent/pod-spec';
import type { DiskLayout } from './disk-layout.ts';
import type { EvictionSummary } from './summary.ts';

/** How a pod is to be ended. */
export interface EvictionKill {
  /** To be applied to the pod's status while it ends: it has failed, and why. */
  readonly statusFn: (status: PodStatus) => PodStatus;
  /** It may get less, never more. */
  readonly gracePeriodSeconds: number;
}

/** Who knows the pods of the node, and ends them. */
export interface EvictionPods {
  /** Those that hold resources of the node. */
  active(): readonly Pod[];
  /**
   * Whether all pods of the node are known: until then images that somebody wants may look unused. They stay, and nobody goes for a disk on
   * which they are. Default: they are known.
   */
  areKnown?(): boolean;
  /** Whether the node must not lose it: it is never evicted. */
  isCritical(pod: Pod): boolean;
  /** Resolves when nothing of it runs any more; rejects where that takes too long. The kill goes on then. */
  kill(pod: Pod, how: EvictionKill, signal: AbortSignal): Promise<void>;
  /** Whether all that it held is free: its volumes too. */
  isGone(pod: Pod): boolean;
}

/** Who measures the node and its pods. */
export interface EvictionStats {
  /** Measured now, as far as that can be. Figures say themselves of which instant they are. */
  summary(options: { readonly fresh: true }, signal: AbortSignal): Promise<EvictionSummary>;
  /**
   * The same of the node alone, asked for while it is short of nothing and no pod has a limit of local storage: most of the time.
   * {@link summary} is asked for instead where absent.
   */
  nodeSummary?(options: { readonly fresh: true }, signal: AbortSignal): Promise<EvictionSummary>;
  /** The machine's memory (`MemTotal`) in bytes, as of the last summary: no more can be in use. Absent or `undefined`: every figure is believed. */
  machineMemoryBytes?(): number | undefined;
}

/** Who removes what nobody needs. What rejects is logged, and the figures decide. */
export interface EvictionReclaim {
  /**
   * All dead containers, those of ended pods among them. Resolves to how many were removed: a runtime frees what they wrote some time later, so that
   * nobody goes for a disk until then.
   */
  deleteUnusedContainers(signal: AbortSignal): Promise<number>;
  deleteUnusedImages(signal: AbortSignal): Promise<unknown>;
}

/** Who measures what pods take of disks as far as that takes too long to be a part of all statistics: volumes, writable layers. */
export interface EvictionDiskUsage {
  /** Measures all of it anew; {@link EvictionStats} tell what was found from then on. Asked before pods are ranked by what they take of a disk. */
  measure(signal: AbortSignal): Promise<unknown>;
}

/** Who knows on which disks the node has what. Asked until it has answered once; memory and process ids are looked after meanwhile. */
export interface EvictionDisks {
  layout(signal: AbortSignal): Promise<DiskLayout>;
}
