import { abortable } from '@node-agent/async';
import type { VolumeError } from '../errors.ts';
import type { BackOff } from './back-off.ts';
import type { NodeVolumes } from './node-volumes.ts';
import type { UnansweredCall } from './plugin.ts';
import type { VolumeEntries } from './volume-entries.ts';
import { isSettled, namesOf, type VolumeEntry } from './volume-entry.ts';

/** Result of a volume's operation: the volume is in its desired state, or an attempt has failed. */
export interface VolumeOutcome {
  readonly name: string;
  /** Reason why the volume is not in its desired state; `undefined` if it is. */
  readonly failure: VolumeError | undefined;
  readonly retryAtMs: number | undefined;
}

/** A volume that is not in its desired state and whose operation has not failed. */
export interface UnsettledVolume {
  readonly name: string;
  /** Whether the volume waits for a controller to attach it. */
  readonly isUnattached: boolean;
  /** Whether a pod that has ended still has the volume with another SELinux label. Default: false. */
  readonly isOtherwise?: boolean;
  /** Call to which a driver has not responded; `undefined` if there is none. */
  readonly unanswered: UnansweredCall | undefined;
}

/** Dependencies of {@link VolumeOutcomes}. */
export interface VolumeOutcomesComponents {
  readonly entries: Pick<VolumeEntries, 'of'>;
  readonly nodes: Pick<NodeVolumes, 'awaitsAttachment' | 'isStagedOtherwise' | 'stageFailure'>;
}

/** Determines which volumes are in their desired state, and waits for the others. */
export class VolumeOutcomes {
  readonly #components: VolumeOutcomesComponents;

  constructor(components: VolumeOutcomesComponents) {
    this.#components = components;
  }

  /** Returns whether callers need not wait for the volume. */
  isSettled(entry: VolumeEntry): boolean {
    return isSettled(entry, this.lastFailure(entry).failure);
  }

  /** Returns the last failure of the volume or, if it waits for its node volume, of the node volume. */
  lastFailure({
    waitsForNode,
    actions: { node },
    backOff,
  }: VolumeEntry): Partial<Pick<BackOff, 'failure' | 'retryAtMs'>> {
    if (!waitsForNode || node === undefined) return backOff;
    return this.#components.nodes.stageFailure(node.volume.uniqueName) ?? {};
  }

  /** Returns a pod's volumes that are not in their desired state and whose operation has not failed. */
  unsettled(podUid: string): readonly UnsettledVolume[] {
    const { entries, nodes } = this.#components;
    return [...entries.of(podUid)].flatMap((entry) => {
      if (this.isSettled(entry)) return [];
      const { node } = entry.actions;
      const waitsFor = entry.waitsForNode ? node?.volume.uniqueName : undefined;
      const isUnattached = waitsFor !== undefined && nodes.awaitsAttachment(waitsFor);
      const isOtherwise = waitsFor !== undefined && nodes.isStagedOtherwise(waitsFor);
      const unanswered = entry.actions.unanswered();
      return namesOf(entry).map((name) => ({ name, isUnattached, isOtherwise, unanswered }));
    });
  }

  /**
   * Returns whether a volume of the pod cannot be attached because the node already has the maximum number of volumes.
   * @throws the signal's reason
   */
  async isAttachLimitExceeded(podUid: string, signal: AbortSignal): Promise<boolean> {
    const { entries, nodes } = this.#components;
    for (const { waitsForNode, actions } of [...entries.of(podUid)]) {
      const { volume, plugin } = actions.node ?? {};
      if (!waitsForNode || volume === undefined || !nodes.awaitsAttachment(volume.uniqueName)) continue;
      if (await plugin?.isAttachLimitExceeded?.(volume, signal)) return true;
    }
    return false;
  }

  /**
   * Waits until each volume of a pod is ready, removed or failed. Content updates are not awaited.
   * @throws the signal's reason
   */
  async settled(podUid: string, signal: AbortSignal): Promise<void> {
    const entries = [...this.#components.entries.of(podUid)];
    // A failed volume may be retried again while other volumes are awaited. A volume that is being retried has no
    // result until its operation has finished.
    while (!entries.every((entry) => this.isSettled(entry))) await this.#wait(entries, signal);
    signal.throwIfAborted();
  }

  /**
   * Returns the outcomes of a pod's volumes as they are now.
   * @param unfinished returns the failure of a volume whose operation has not finished
   */
  outcomes(podUid: string, unfinished: (volume: UnsettledVolume) => VolumeError): readonly VolumeOutcome[] {
    const settled = [...this.#components.entries.of(podUid)].flatMap((entry) => {
      if (!this.isSettled(entry)) return [];
      const isRight = entry.wanted ? entry.presence === 'ready' : entry.presence === 'absent';
      const { failure, retryAtMs } = this.lastFailure(entry);
      return namesOf(entry).map((name) => ({ name, failure: isRight ? undefined : failure, retryAtMs }));
    });
    const others = this.unsettled(podUid).map((volume) => ({
      ...{ name: volume.name, failure: unfinished(volume), retryAtMs: undefined },
    }));
    return [...settled, ...others];
  }

  /** Waits for all volumes with a single listener on the signal, because a pod may have thousands of volumes. */
  async #wait(entries: readonly VolumeEntry[], signal: AbortSignal): Promise<void> {
    const waiting = new Map<VolumeEntry, () => void>();
    const { promise: ended, resolve } = Promise.withResolvers<void>();
    for (const entry of entries) {
      if (this.isSettled(entry)) continue;
      const wake = (): void => {
        waiting.delete(entry);
        entry.waiters.delete(wake);
        if (waiting.size === 0) resolve();
      };
      waiting.set(entry, wake);
      entry.waiters.add(wake);
    }
    if (waiting.size === 0) return;
    try {
      await abortable(ended, signal);
    } finally {
      for (const [entry, wake] of waiting) entry.waiters.delete(wake);
    }
  }
}

/** Returns the earliest retry time of the failed volumes. */
export function earliestRetry(outcomes: readonly VolumeOutcome[]): number | undefined {
  const times = outcomes.map(({ retryAtMs }) => retryAtMs).filter((time) => time !== undefined);
  return times.length > 0 ? Math.min(...times) : undefined;
}
