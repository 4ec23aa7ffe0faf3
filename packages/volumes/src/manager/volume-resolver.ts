import type { Clock } from '@node-agent/async';
import type { Pod, Volume } from '@node-agent/pod-spec';
import { claimOf, mountOptionsOf, persistentVolumeType } from '../claims/claim-rule.ts';
import type { ClaimSource } from '../claims/claim-source.ts';
import { Claims } from '../claims/claims.ts';
import { VolumeError, type VolumeErrorCode } from '../errors.ts';
import { escapePluginName } from '../paths/pod-paths.ts';
import { BackOff } from './back-off.ts';
import type { VolumePlugin } from './plugin.ts';
import { podVolume, type ResolvedVolume, type VolumeSpec } from './resolved-volume.ts';
import { unsupportedType } from './volume-actions.ts';

/** A volume of a pod, and its type; `undefined` for one that this kubelet has not got. */
export interface TypedVolume {
  readonly plugin: VolumePlugin | undefined;
  readonly resolved: ResolvedVolume;
}

/** Tells the volumes of a pod apart, by its directory where there is one. */
export function volumeId({ plugin, resolved: { directoryName, persistent, node } }: TypedVolume): string {
  const type = plugin === undefined ? '' : escapePluginName(plugin.name);
  // A volume of the pod's own may be called as a persistent one is: neither has a directory.
  return persistent && !node ? `${type}/persistent/${directoryName}` : `${type}/${directoryName}`;
}

/** What {@link VolumeResolver} works with. */
export interface VolumeResolverComponents {
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly plugins: readonly VolumePlugin[];
  readonly claims?: ClaimSource | undefined;
  /** It is known what the volume is, and that this node cannot have it: an event of its own, as upstream's. */
  readonly onRefused: (pod: Pod, error: VolumeError) => void;
}

/** Failures of a volume that is known. */
const REFUSALS: ReadonlySet<VolumeErrorCode> = new Set(['WrongNode', 'UnsupportedMount']);

/** Whether a volume that failed is known; there was an event of it then. */
export function isRefusal({ code }: VolumeError): boolean {
  return REFUSALS.has(code);
}

/**
 * Finds out what the volumes of pods are, before anything of them is wanted (`createVolumeSpec` of
 * `pkg/kubelet/volumemanager/populator`). What failed a moment ago is not asked for at once.
 */
export class VolumeResolver {
  readonly #components: VolumeResolverComponents;
  /** Absent where there is nobody to ask for claims: then they are a type that there is not. */
  readonly #claims: Claims | undefined;
  readonly #backOffs = new Map<string, Map<string, BackOff>>();

  constructor(components: VolumeResolverComponents) {
    this.#components = components;
    this.#claims = components.claims && new Claims(components.claims);
  }

  /** What of a volume this kubelet has not got, in words, as far as its pod tells; of a claim more is known when it is read. */
  unsupported(pod: Pod, volume: Volume): string | undefined {
    if (this.#isClaim(pod, volume)) return undefined;
    const plugin = this.#pluginOf({ volume });
    return plugin === undefined ? unsupportedType({ volume }) : plugin.unsupported?.(volume);
  }

  /** A volume of which nothing has to be found out. */
  known(pod: Pod, volume: Volume): TypedVolume | undefined {
    if (this.#isClaim(pod, volume)) return undefined;
    const plugin = this.#pluginOf({ volume });
    return plugin?.resolve === undefined ? { plugin, resolved: podVolume({ volume }) } : undefined;
  }

  /** @throws VolumeError with `retryAtMs`; the signal's reason */
  async resolve(pod: Pod, volume: Volume, signal: AbortSignal): Promise<TypedVolume> {
    const { clock, onRefused } = this.#components;
    const { uid } = pod.metadata;
    const ofPod = this.#backOffs.get(uid) ?? new Map<string, BackOff>();
    const backOff = ofPod.get(volume.name) ?? new BackOff(clock);
    if (backOff.failure !== undefined && clock.monotonic() < (backOff.retryAtMs ?? 0)) throw failureOf(backOff);
    try {
      const typed = await this.#resolve(pod, volume, signal);
      ofPod.delete(volume.name);
      return typed;
    } catch (error) {
      signal.throwIfAborted();
      backOff.failed(error);
      this.#backOffs.set(uid, ofPod.set(volume.name, backOff));
      const failure = failureOf(backOff);
      if (isRefusal(failure)) onRefused(pod, failure);
      throw failure;
    }
  }

  /** The pod goes. */
  forget(podUid: string): void {
    this.#backOffs.delete(podUid);
  }

  async #resolve(pod: Pod, volume: Volume, signal: AbortSignal): Promise<TypedVolume> {
    const spec = (await this.#claims?.specOf(pod, volume, signal)) ?? { volume };
    const plugin = this.#pluginOf(spec);
    checkPersistentVolume(spec, plugin);
    const resolved = (await plugin?.resolve?.(pod, spec, signal)) ?? podVolume(spec);
    return { plugin, resolved };
  }

  #pluginOf(spec: VolumeSpec): VolumePlugin | undefined {
    return this.#components.plugins.find((plugin) => plugin.canSupport(spec));
  }

  #isClaim(pod: Pod, volume: Volume): boolean {
    return this.#claims !== undefined && claimOf(pod, volume) !== undefined;
  }
}

function failureOf({ failure, retryAtMs }: BackOff): VolumeError {
  const { code, message } = VolumeError.from(failure);
  return new VolumeError(code, message, failure, { retryAtMs });
}

/** @throws VolumeError `UnsupportedVolume`, `UnsupportedMount` */
function checkPersistentVolume({ persistent }: VolumeSpec, plugin: VolumePlugin | undefined): void {
  if (persistent === undefined) return;
  const { name = '' } = persistent.metadata;
  if (plugin === undefined) {
    const why = `type ${persistentVolumeType(persistent)} is not supported by this kubelet`;
    throw new VolumeError('UnsupportedVolume', `failed to get Plugin from volumeSpec for volume "${name}" err=${why}`);
  }
  if (mountOptionsOf(persistent).length === 0 || plugin.takesMountOptions) return;
  const why = 'mount options are not supported for this volume type';
  const message = `MountVolume.MountOptionSupport check failed for volume "${name}" : ${why}`;
  throw new VolumeError('UnsupportedMount', message);
}
