import type { Clock } from '@node-agent/async';
import type { Pod, Volume } from '@node-agent/pod-spec';
import { BackOff } from './back-off.ts';
import { VolumeError } from './errors.ts';
import type { VolumePlugin } from './plugin.ts';
import { podVolume, type ResolvedVolume, type VolumeSpec } from './resolved-volume.ts';

/** A volume of a pod, and its type; `undefined` for one that this kubelet has not got. */
export interface TypedVolume {
  readonly plugin: VolumePlugin | undefined;
  readonly resolved: ResolvedVolume;
}

/** What {@link VolumeResolver} works with. */
export interface VolumeResolverComponents {
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly plugins: readonly VolumePlugin[];
}

/**
 * Finds out what the volumes of pods are, before anything of them is wanted (`createVolumeSpec` of
 * `pkg/kubelet/volumemanager/populator`). What failed a moment ago is not asked for at once.
 */
export class VolumeResolver {
  readonly #components: VolumeResolverComponents;
  readonly #backOffs = new Map<string, Map<string, BackOff>>();

  constructor(components: VolumeResolverComponents) {
    this.#components = components;
  }

  /** The type of a volume. */
  pluginOf(spec: VolumeSpec): VolumePlugin | undefined {
    return this.#components.plugins.find((plugin) => plugin.canSupport(spec));
  }

  /** A volume of which nothing has to be found out. */
  known(volume: Volume): TypedVolume | undefined {
    const plugin = this.pluginOf({ volume });
    return plugin?.resolve === undefined ? { plugin, resolved: podVolume(volume) } : undefined;
  }

  /** @throws VolumeError with `retryAtMs`; the signal's reason */
  async resolve(pod: Pod, volume: Volume, signal: AbortSignal): Promise<TypedVolume> {
    const { clock } = this.#components;
    const { uid } = pod.metadata;
    const ofPod = this.#backOffs.get(uid) ?? new Map<string, BackOff>();
    const backOff = ofPod.get(volume.name) ?? new BackOff(clock);
    if (backOff.failure !== undefined && clock.monotonic() < (backOff.retryAtMs ?? 0)) throw failureOf(backOff);
    try {
      const typed = await this.#resolve(pod, { volume }, signal);
      ofPod.delete(volume.name);
      return typed;
    } catch (error) {
      signal.throwIfAborted();
      backOff.failed(error);
      this.#backOffs.set(uid, ofPod.set(volume.name, backOff));
      throw failureOf(backOff);
    }
  }

  /** The pod goes. */
  forget(podUid: string): void {
    this.#backOffs.delete(podUid);
  }

  async #resolve(pod: Pod, spec: VolumeSpec, signal: AbortSignal): Promise<TypedVolume> {
    const plugin = this.pluginOf(spec);
    const resolved = (await plugin?.resolve?.(pod, spec, signal)) ?? podVolume(spec.volume);
    return { plugin, resolved };
  }
}

function failureOf({ failure, retryAtMs }: BackOff): VolumeError {
  const { code, message } = VolumeError.from(failure);
  return new VolumeError(code, message, failure, { retryAtMs });
}
