import type { Clock } from '@node-agent/async';
import type { VolumeExpander } from '../expand/volume-expander.ts';
import type { VolumeOperations } from './volume-operations.ts';

/** Minimum time between two comparisons of a ready volume's size with its PVC, in milliseconds. */
const COMPARE_MS = 30_000;

/** Dependencies of {@link SizeComparisons}. */
export interface SizeComparisonsComponents {
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly operations: Pick<VolumeOperations, 'expandable' | 'expand'>;
  readonly expander: Pick<VolumeExpander, 'isDue'>;
}

/** Expands ready volumes whose controller has expanded them. */
export class SizeComparisons {
  readonly #components: SizeComparisonsComponents;
  /** Monotonic time at which each ready volume was last compared with its PVC, by pod UID and volume name. */
  readonly #comparedAtMs = new Map<string, Map<string, number>>();

  constructor(components: SizeComparisonsComponents) {
    this.#components = components;
  }

  /**
   * Compares a ready volume with its PVC. Syncs of the pod do not wait for the comparison. Upstream reads the PVC and
   * its persistent volume at every sync. Never rejects.
   */
  async compare(podUid: string, name: string, signal: AbortSignal): Promise<void> {
    const { clock, operations, expander } = this.#components;
    const resolved = operations.expandable(podUid, name);
    const nowMs = clock.monotonic();
    const ofPod = this.#comparedAtMs.get(podUid) ?? new Map<string, number>();
    if (resolved?.claim === undefined || nowMs - (ofPod.get(name) ?? Number.NEGATIVE_INFINITY) < COMPARE_MS) return;
    this.#comparedAtMs.set(podUid, ofPod.set(name, nowMs));
    if (await expander.isDue(resolved, signal)) operations.expand(podUid, name);
  }

  /** Drops the pod's state because the pod is being removed. */
  forget(podUid: string): void {
    this.#comparedAtMs.delete(podUid);
  }
}
