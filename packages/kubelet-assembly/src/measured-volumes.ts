import { type Clock, every } from '@node-agent/async';
import type { Pod } from '@node-agent/pod-spec';
import type { PodReference, VolumeFigures } from '@node-agent/stats';
import type { Logger } from '@node-agent/telemetry';
import type { VolumeUsage } from '@node-agent/volumes';

/** Components of {@link MeasuredVolumes}. */
export interface MeasuredVolumesComponents {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly pods: () => readonly Pod[];
  readonly volumes: { volumeUsage(pod: Pod, signal: AbortSignal): Promise<readonly VolumeUsage[]> };
}

/**
 * Measures the volumes of all pods periodically in the background (`fsResourceAnalyzer` in
 * `pkg/kubelet/server/stats/fs_resource_analyzer.go`). {@link of} returns the last result without waiting. A pod whose
 * volumes take long to measure delays no other pod.
 */
export class MeasuredVolumes {
  readonly #components: MeasuredVolumesComponents;
  readonly #periodMs: number;
  readonly #underWay = new Map<string, Promise<void>>();
  readonly #figures = new Map<string, readonly VolumeFigures[]>();
  /** Names of volumes that could not be counted completely, by pod UID, so that each volume is logged only once. */
  readonly #incomplete = new Map<string, ReadonlySet<string>>();

  /** @param periodMs `volumeStatsAggPeriod`; 0 or less disables measurements */
  constructor(components: MeasuredVolumesComponents, { periodMs }: { readonly periodMs: number }) {
    this.#components = components;
    this.#periodMs = periodMs;
  }

  async start(signal: AbortSignal): Promise<void> {
    if (this.#periodMs <= 0) return;
    await every(this.#components.clock, this.#periodMs, () => this.#round(signal), signal);
  }

  /** Measures all volumes again. Resolves when all results are newer than the call. */
  async measure(signal: AbortSignal): Promise<void> {
    if (this.#periodMs <= 0) return;
    await Promise.all(
      this.#components.pods().map(async (pod) => {
        await this.#underWay.get(pod.metadata.uid);
        signal.throwIfAborted();
        // A measurement that started after this call is new enough, even if another caller started it.
        await (this.#underWay.get(pod.metadata.uid) ?? this.#begin(pod, signal));
      }),
    );
  }

  /** Returns the last result for a pod, or an empty list if the pod was not measured yet. */
  of({ uid }: Pick<PodReference, 'uid'>): readonly VolumeFigures[] {
    return this.#figures.get(uid) ?? [];
  }

  #round(signal: AbortSignal): void {
    const pods = this.#components.pods();
    const known = new Set(pods.map(({ metadata }) => metadata.uid));
    for (const uid of this.#figures.keys()) if (!known.has(uid)) this.#figures.delete(uid);
    for (const uid of this.#incomplete.keys()) if (!known.has(uid)) this.#incomplete.delete(uid);
    for (const pod of pods) if (!this.#underWay.has(pod.metadata.uid)) void this.#begin(pod, signal);
  }

  #begin(pod: Pod, signal: AbortSignal): Promise<void> {
    const { uid } = pod.metadata;
    const measuring = this.#measure(pod, signal).finally(() => this.#underWay.delete(uid));
    this.#underWay.set(uid, measuring);
    return measuring;
  }

  async #measure(pod: Pod, signal: AbortSignal): Promise<void> {
    const { volumes, logger } = this.#components;
    const { uid } = pod.metadata;
    try {
      const usages = await volumes.volumeUsage(pod, signal);
      const before = new Map(this.of({ uid }).map((figures) => [figures.name, figures]));
      this.#tellIncomplete(uid, usages);
      this.#figures.set(
        uid,
        usages.map((usage) => figuresOf(usage, before.get(usage.name))),
      );
    } catch (err) {
      if (!signal.aborted) logger.warn({ err, podUid: uid }, 'Failed to calculate volume metrics');
    }
  }

  #tellIncomplete(podUid: string, usages: readonly VolumeUsage[]): void {
    const names = usages.filter(({ complete }) => !complete).map(({ name }) => name);
    const told = this.#incomplete.get(podUid);
    for (const volume of names) {
      if (told?.has(volume)) continue;
      this.#components.logger.warn(
        { podUid, volume },
        'Volume is too large to be counted completely; only eviction uses its partial usage',
      );
    }
    if (names.length > 0) this.#incomplete.set(podUid, new Set(names));
    else this.#incomplete.delete(podUid);
  }
}

/**
 * Returns the usage of a volume to report. If the volume was not counted completely this time, the reported usage does
 * not decrease, because the missing part is only uncounted. The last complete result is reported until more usage than
 * that has been counted, as in upstream, which reports the last result until the next count is complete.
 * @param before the last reported values
 */
function figuresOf(usage: VolumeUsage, before: VolumeFigures | undefined): VolumeFigures {
  const { name, medium, fileSystem, measuredAtMs, complete, claim, abnormal } = usage;
  const atLeast = (now: number, then = 0): number => (complete ? now : Math.max(now, then));
  const usedBytes = atLeast(usage.usedBytes, before?.usedBytes);
  const inodesUsed = atLeast(usage.inodesUsed, before?.inodesUsed);
  const isAsBefore = before !== undefined && usedBytes === before.usedBytes && inodesUsed === before.inodesUsed;
  const isLowerBound = !complete && (before?.isLowerBound === true || !isAsBefore);
  return {
    ...{ name, usedBytes, inodesUsed, observedAtMs: measuredAtMs, isLocalEphemeral: medium === 'disk' },
    ...{ availableBytes: fileSystem.availableBytes, capacityBytes: fileSystem.totalBytes },
    ...{ inodesFree: fileSystem.freeInodes, inodes: fileSystem.inodes },
    ...(isLowerBound && { isLowerBound }),
    ...(claim && { claim }),
    ...(abnormal !== undefined && { abnormal }),
  };
}
