import { abortable, type Clock, Semaphore } from '@node-agent/async';
import type { TreeUsage } from '@node-agent/host';
import { type Pod, parseQuantity, type Volume } from '@node-agent/pod-spec';
import type { Logger } from '@node-agent/telemetry';
import type { MountedVolume, VolumePlugin } from './plugin.ts';
import type { ReadyVolume } from './volume-entry.ts';

/** What a volume of a pod takes. */
export interface VolumeUsage {
  /** As the pod calls it. */
  readonly name: string;
  /** `disk` is the kubelet's own: it counts as local ephemeral storage. Huge pages are memory. `persistent`: what a claim is bound to, all of its file system. */
  readonly medium: 'memory' | 'disk' | 'persistent';
  /** As allocated. */
  readonly usedBytes: number;
  readonly inodesUsed: number;
  /** Whether all of it was counted: where not, it takes more than this. */
  readonly complete: boolean;
  /** The `sizeLimit` of an emptyDir that has one. */
  readonly limitBytes?: number;
  /** Of a volume of a claim. */
  readonly claim?: { readonly namespace: string; readonly name: string };
  /** The file system that it is on. */
  readonly fileSystem: TreeUsage['fileSystem'];
  /** By the wall clock. */
  readonly measuredAtMs: number;
}

/** How many volumes are measured at once. */
const AT_ONCE = 4;

/** What {@link VolumeUsages} works with. */
export interface VolumeUsagesComponents {
  readonly plugins: readonly VolumePlugin[];
  readonly clock: Pick<Clock, 'now'>;
  readonly logger: Logger;
  /** The volumes of a pod that are ready, by name. */
  readonly allMounted: (podUid: string) => ReadonlyMap<string, ReadyVolume>;
}

/**
 * Measures volumes beside all else: no operation of a volume waits for it (W6). Who asks for what is being measured gets the
 * same answer.
 */
export class VolumeUsages {
  readonly #components: VolumeUsagesComponents;
  readonly #places = new Semaphore(AT_ONCE);
  readonly #underWay = new Map<string, Promise<TreeUsage>>();

  constructor(components: VolumeUsagesComponents) {
    this.#components = components;
  }

  /** Of all volumes of a pod that are ready and can be measured. One that cannot be now is left out, and logged. */
  async of(pod: Pod, signal: AbortSignal): Promise<readonly VolumeUsage[]> {
    const volumes = pod.spec.volumes ?? [];
    const ready = this.#components.allMounted(pod.metadata.uid);
    const usages = await Promise.all(volumes.map((volume) => this.#usage(pod, volume, ready.get(volume.name), signal)));
    return usages.filter((usage) => usage !== undefined);
  }

  async #usage(
    { metadata: { uid } }: Pod,
    volume: Volume,
    place: ReadyVolume | undefined,
    signal: AbortSignal,
  ): Promise<VolumeUsage | undefined> {
    const { plugins, clock, logger } = this.#components;
    const plugin = place && plugins.find((candidate) => candidate.canSupport(place.resolved));
    if (plugin?.usage === undefined || place === undefined) return undefined;
    try {
      const usage = await abortable(this.#measured(place, plugin.usage.bind(plugin)), signal);
      const { bytes: usedBytes, inodes: inodesUsed, complete, fileSystem } = usage;
      const limitBytes = sizeLimitBytes(volume);
      const measured = { usedBytes, inodesUsed, complete, fileSystem, measuredAtMs: clock.now() };
      const { claim } = place.resolved;
      return {
        ...{ name: volume.name, medium: claim ? 'persistent' : mediumOf(volume), ...measured },
        ...(limitBytes > 0 && { limitBytes }),
        ...(claim && { claim }),
      };
    } catch (err) {
      signal.throwIfAborted();
      logger.warn({ err, podUid: uid, volume: volume.name }, 'A volume cannot be measured');
      return undefined;
    }
  }

  #measured(place: MountedVolume, measure: (place: MountedVolume) => Promise<TreeUsage>): Promise<TreeUsage> {
    const known = this.#underWay.get(place.hostPath);
    if (known !== undefined) return known;
    const usage = this.#places.run(() => measure(place)).finally(() => this.#underWay.delete(place.hostPath));
    // Those who wait may all have gone.
    usage.catch(() => undefined);
    this.#underWay.set(place.hostPath, usage);
    return usage;
  }
}

/** What counts as local ephemeral storage is on the disk (`IsLocalEphemeralVolume` of `pkg/volume/util`). */
function mediumOf({ emptyDir, configMap }: Volume): VolumeUsage['medium'] {
  return (emptyDir !== undefined && !emptyDir.medium) || configMap !== undefined ? 'disk' : 'memory';
}

function sizeLimitBytes({ emptyDir }: Volume): number {
  return emptyDir?.sizeLimit === undefined ? 0 : Number(parseQuantity(emptyDir.sizeLimit).value());
}
