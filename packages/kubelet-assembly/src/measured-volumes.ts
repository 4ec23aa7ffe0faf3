import { type Clock, every } from '@node-agent/async';
import type { Pod } from '@node-agent/pod-spec';
import type { PodReference, VolumeFigures } from '@node-agent/stats';
import type { Logger } from '@node-agent/telemetry';
import type { VolumeUsage } from '@node-agent/volumes';

/** What is measured of pods, and by whom. */
export interface MeasuredVolumesComponents {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly pods: () => readonly Pod[];
  readonly volumes: { volumeUsage(pod: Pod, signal: AbortSignal): Promise<readonly VolumeUsage[]> };
}

/**
 * What the volumes of all pods take, measured again and again beside all else (`fsResourceAnalyzer`,
 * `pkg/kubelet/server/stats/fs_resource_analyzer.go`): whoever asks is told what was last found out, and waits for nothing. A
 * pod whose volumes take long to measure delays no other.
 */
export class MeasuredVolumes {
  readonly #components: MeasuredVolumesComponents;
  readonly #periodMs: number;
  readonly #underWay = new Set<string>();
  readonly #figures = new Map<string, readonly VolumeFigures[]>();

  /** @param periodMs `volumeStatsAggPeriod`; 0 and less: nothing is measured */
  constructor(components: MeasuredVolumesComponents, { periodMs }: { readonly periodMs: number }) {
    this.#components = components;
    this.#periodMs = periodMs;
  }

  async start(signal: AbortSignal): Promise<void> {
    if (this.#periodMs <= 0) return;
    await every(this.#components.clock, this.#periodMs, () => this.#round(signal), signal);
  }

  /** As last measured; none of a pod that was not measured yet. */
  of({ uid }: Pick<PodReference, 'uid'>): readonly VolumeFigures[] {
    return this.#figures.get(uid) ?? [];
  }

  #round(signal: AbortSignal): void {
    const pods = this.#components.pods();
    const known = new Set(pods.map(({ metadata }) => metadata.uid));
    for (const uid of this.#figures.keys()) if (!known.has(uid)) this.#figures.delete(uid);
    for (const pod of pods) if (!this.#underWay.has(pod.metadata.uid)) void this.#measure(pod, signal);
  }

  async #measure(pod: Pod, signal: AbortSignal): Promise<void> {
    const { volumes, logger } = this.#components;
    const { uid } = pod.metadata;
    this.#underWay.add(uid);
    try {
      this.#figures.set(uid, (await volumes.volumeUsage(pod, signal)).map(figuresOf));
    } catch (err) {
      if (!signal.aborted) logger.warn({ err, podUid: uid }, 'Failed to calculate volume metrics');
    } finally {
      this.#underWay.delete(uid);
    }
  }
}

function figuresOf({ name, medium, usedBytes, inodesUsed, fileSystem, measuredAtMs }: VolumeUsage): VolumeFigures {
  return {
    ...{ name, usedBytes, inodesUsed, observedAtMs: measuredAtMs, isLocalEphemeral: medium === 'disk' },
    ...{ availableBytes: fileSystem.availableBytes, capacityBytes: fileSystem.totalBytes },
    ...{ inodesFree: fileSystem.freeInodes, inodes: fileSystem.inodes },
  };
}
