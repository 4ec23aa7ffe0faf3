import { abortable, type Clock, Semaphore } from '@node-agent/async';
import type { TreeUsage } from '@node-agent/host';
import { type Pod, parseQuantity, podReference, type Volume } from '@node-agent/pod-spec';
import { type EventRecorder, eventReasons, LastingProblem, type Logger } from '@node-agent/telemetry';
import type { MountedVolume, VolumeMeasurement } from './plugin.ts';
import type { PluginSet } from './plugin-set.ts';
import type { ReadyVolume } from './volume-entry.ts';

/** Usage of a volume of a pod. */
export interface VolumeUsage {
  /** Name of the volume in the pod. */
  readonly name: string;
  /**
   * `disk`: on the kubelet's disk, so that it counts as local ephemeral storage. `memory`: tmpfs or huge pages.
   * `persistent`: the persistent volume of a PVC, with the usage of its whole file system.
   */
  readonly medium: 'memory' | 'disk' | 'persistent';
  /** Allocated bytes. */
  readonly usedBytes: number;
  readonly inodesUsed: number;
  /** Whether the whole volume was measured; if false, the real usage is larger than the reported usage. */
  readonly complete: boolean;
  /** The `sizeLimit` of an emptyDir, if it has one. */
  readonly limitBytes?: number;
  /** The PVC of the volume. */
  readonly claim?: { readonly namespace: string; readonly name: string };
  /** Whether the volume's driver reports an abnormal condition; absent if the driver reports no condition. */
  readonly abnormal?: boolean;
  /** The file system of the volume. */
  readonly fileSystem: TreeUsage['fileSystem'];
  /** Wall-clock time of the measurement. */
  readonly measuredAtMs: number;
}

/** Maximum number of volumes that are measured concurrently. */
const AT_ONCE = 4;

/** Dependencies of {@link VolumeUsages}. */
export interface VolumeUsagesComponents {
  readonly plugins: Pick<PluginSet, 'of'>;
  readonly clock: Pick<Clock, 'now'>;
  readonly logger: Logger;
  readonly recorder: EventRecorder;
  /** Returns the ready volumes of a pod, by name. */
  readonly allMounted: (podUid: string) => ReadonlyMap<string, ReadyVolume>;
}

/**
 * Measures volumes in the background: no volume operation waits for a measurement (W6). Concurrent requests for the
 * same volume share one measurement.
 */
export class VolumeUsages {
  readonly #components: VolumeUsagesComponents;
  readonly #places = new Semaphore(AT_ONCE);
  readonly #underWay = new Map<string, Promise<VolumeMeasurement | undefined>>();
  readonly #problem: LastingProblem;

  constructor(components: VolumeUsagesComponents) {
    this.#components = components;
    // A CSI driver that is down fails the measurement of each of its volumes for the same reason.
    this.#problem = new LastingProblem(components.logger, {
      failed: 'Failed to measure a volume',
      over: 'Measured a volume again after failures',
    });
  }

  /** Drops the state of a pod whose volumes have been removed. */
  forget(podUid: string): void {
    this.#problem.forget({ podUid });
  }

  /**
   * Returns the usage of all ready volumes of a pod that can be measured. A volume whose measurement fails is left out,
   * and the reason is logged when it changes.
   */
  async of(pod: Pod, signal: AbortSignal): Promise<readonly VolumeUsage[]> {
    const volumes = pod.spec.volumes ?? [];
    const { uid } = pod.metadata;
    const ready = this.#components.allMounted(uid);
    const usages = await Promise.all(volumes.map((volume) => this.#usage(pod, volume, ready.get(volume.name), signal)));
    // The volumes may have been removed during the measurement, which then may have failed.
    if (ready.size > 0 && this.#components.allMounted(uid).size === 0) this.forget(uid);
    return usages.filter((usage) => usage !== undefined);
  }

  async #usage(
    pod: Pod,
    volume: Volume,
    place: ReadyVolume | undefined,
    signal: AbortSignal,
  ): Promise<VolumeUsage | undefined> {
    const { plugins, clock } = this.#components;
    const { uid } = pod.metadata;
    const plugin = place && plugins.of(place.resolved);
    if (plugin?.usage === undefined || place === undefined) return undefined;
    try {
      const measure = async (): Promise<VolumeMeasurement | undefined> =>
        await plugin.usage?.(place, place.resolved, pod);
      const usage = await abortable(this.#measured(place, measure, plugin.measuresElsewhere ?? false), signal);
      this.#problem.over({ podUid: uid, volume: volume.name });
      if (usage === undefined) return undefined;
      const { bytes: usedBytes, inodes: inodesUsed, complete, fileSystem, condition } = usage;
      if (condition?.abnormal) this.#tellAbnormal(pod, volume.name, condition.message);
      const limitBytes = sizeLimitBytes(volume);
      const measured = { usedBytes, inodesUsed, complete, fileSystem, measuredAtMs: clock.now() };
      const { claim } = place.resolved;
      return {
        ...{ name: volume.name, medium: claim ? 'persistent' : mediumOf(volume), ...measured },
        ...(limitBytes > 0 && { limitBytes }),
        ...(claim && { claim }),
        ...(condition && { abnormal: condition.abnormal }),
      };
    } catch (err) {
      signal.throwIfAborted();
      this.#problem.failed(err, { podUid: uid, volume: volume.name });
      return undefined;
    }
  }

  /**
   * Sends an event for a volume with an abnormal condition, at each measurement as upstream does
   * (`pkg/kubelet/server/stats/volume_stat_calculator.go`).
   */
  #tellAbnormal(pod: Pod, volume: string, message: string): void {
    const { recorder } = this.#components;
    const text = `Volume ${volume}: ${message}`;
    recorder.event(podReference(pod), 'Warning', eventReasons.volumeConditionAbnormal, text);
  }

  #measured(
    { hostPath }: MountedVolume,
    measure: () => Promise<VolumeMeasurement | undefined>,
    isElsewhere: boolean,
  ): Promise<VolumeMeasurement | undefined> {
    const known = this.#underWay.get(hostPath);
    if (known !== undefined) return known;
    const measuring = isElsewhere ? measure() : this.#places.run(measure);
    const usage = measuring.finally(() => this.#underWay.delete(hostPath));
    // This handler prevents an unhandled rejection if all callers have stopped waiting.
    usage.catch(() => undefined);
    this.#underWay.set(hostPath, usage);
    return usage;
  }
}

/**
 * Returns the medium of a volume: `disk` if its usage counts as local ephemeral storage (`IsLocalEphemeralVolume` of
 * `pkg/volume/util`), otherwise `memory`.
 */
function mediumOf({ emptyDir, configMap }: Volume): VolumeUsage['medium'] {
  return (emptyDir !== undefined && !emptyDir.medium) || configMap !== undefined ? 'disk' : 'memory';
}

function sizeLimitBytes({ emptyDir }: Volume): number {
  return emptyDir?.sizeLimit === undefined ? 0 : Number(parseQuantity(emptyDir.sizeLimit).value());
}
