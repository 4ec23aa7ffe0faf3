import type { Clock } from '@node-agent/async';
import type { Pod, Volume } from '@node-agent/pod-spec';
import { claimOf, mountOptionsOf, persistentVolumeType } from '../claims/claim-rule.ts';
import type { ClaimSource } from '../claims/claim-source.ts';
import { Claims } from '../claims/claims.ts';
import { VolumeError, type VolumeErrorCode } from '../errors.ts';
import { inlineSpec } from '../migration/translation.ts';
import { escapePluginName } from '../paths/pod-paths.ts';
import { idOnDisk } from '../paths/volumes-on-disk.ts';
import type { SelinuxLabels } from '../selinux/selinux-labels.ts';
import { BackOff } from './back-off.ts';
import type { VolumePlugin } from './plugin.ts';
import type { PluginSet } from './plugin-set.ts';
import { podVolume, type ResolvedVolume, type VolumeSpec } from './resolved-volume.ts';
import { unsupportedType } from './volume-actions.ts';

/** A volume of a pod with its plugin; the plugin is `undefined` if the type is not supported. */
export interface TypedVolume {
  readonly plugin: VolumePlugin | undefined;
  readonly resolved: ResolvedVolume;
}

/**
 * Returns an identifier of the volume that is unique within its pod. If the volume has a directory, the identifier is
 * derived from it.
 */
export function volumeId({ plugin, resolved: { directoryName, persistent, node } }: TypedVolume): string {
  if (plugin?.isBlock) {
    const name = escapePluginName(plugin.name);
    return idOnDisk({ plugin: name, name: directoryName, isBlock: true, isDirectory: false });
  }
  const type = plugin === undefined ? '' : escapePluginName(plugin.name);
  // A pod's own volume and a persistent volume may have the same name, so persistent volumes without a directory get
  // their own prefix.
  return persistent && !node ? `${type}/persistent/${directoryName}` : `${type}/${directoryName}`;
}

/** Dependencies of {@link VolumeResolver}. */
export interface VolumeResolverComponents {
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly plugins: Pick<PluginSet, 'of' | 'newest'>;
  readonly claims?: ClaimSource | undefined;
  /** Determines the SELinux labels of volumes; absent on a node without SELinux. */
  readonly labels?: Pick<SelinuxLabels, 'labelled'> | undefined;
  /**
   * Called when the volume's identity is known but this node cannot use it. The caller sends an event for the volume,
   * as upstream does.
   */
  readonly onRefused: (pod: Pod, error: VolumeError) => void;
}

/**
 * Longest time before a volume of unknown identity is resolved again, in milliseconds. Upstream has no back-off for such
 * volumes: each sync of the pod reads the PVC again, and a failed sync is retried after 10 s
 * (`desired_state_of_world_populator.go: processPodVolumes`).
 */
const MAX_RESOLVE_BACK_OFF_MS = 10_000;

/** Error codes of volumes whose identity is known but which this node cannot use. */
const REFUSALS: ReadonlySet<VolumeErrorCode> = new Set(['WrongNode', 'UnsupportedMount']);

/**
 * Returns whether the failed volume is known but cannot be used on this node, so that an event was already sent for it.
 */
export function isRefusal({ code }: VolumeError): boolean {
  return REFUSALS.has(code);
}

/**
 * Determines the identity of pods' volumes before they are set up (`createVolumeSpec` of
 * `pkg/kubelet/volumemanager/populator`). A volume that failed recently is not resolved again before its back-off has
 * passed.
 */
export class VolumeResolver {
  readonly #components: VolumeResolverComponents;
  /** Resolves PVCs; `undefined` without a source of PVCs, so that volumes with a PVC are not supported. */
  readonly #claims: Claims | undefined;
  readonly #backOffs = new Map<string, Map<string, BackOff>>();

  constructor(components: VolumeResolverComponents) {
    this.#components = components;
    this.#claims = components.claims && new Claims(components.claims);
  }

  /**
   * Returns why this kubelet does not support a volume, if the pod's spec alone shows it. A volume with a PVC is
   * checked further when the PVC has been read.
   */
  unsupported(pod: Pod, volume: Volume): string | undefined {
    const spec = this.#inlineSpec(pod, volume);
    if (spec === undefined) return undefined;
    const plugin = this.#pluginOf(spec);
    return plugin === undefined ? unsupportedType(spec) : plugin.unsupported?.(volume);
  }

  /** Returns the volume if its identity is known from the pod alone. */
  known(pod: Pod, volume: Volume): TypedVolume | undefined {
    const spec = this.#inlineSpec(pod, volume);
    if (spec === undefined) return undefined;
    const plugin = this.#pluginOf(spec);
    return plugin?.resolve === undefined ? { plugin, resolved: podVolume(spec) } : undefined;
  }

  /**
   * Determines the volume's identity, and passes the volume to `use`. Nothing is awaited between the comparison of the
   * volume's SELinux label with those of other pods and the call of `use`: with an await, two pods with different labels
   * could both pass the comparison.
   * @throws VolumeError with `retryAtMs`; the signal's reason
   */
  async resolve(pod: Pod, volume: Volume, signal: AbortSignal, use: (typed: TypedVolume) => void): Promise<void> {
    const { clock, onRefused } = this.#components;
    const { uid } = pod.metadata;
    const ofPod = this.#backOffs.get(uid) ?? new Map<string, BackOff>();
    const backOff = ofPod.get(volume.name) ?? new BackOff(clock);
    if (backOff.failure !== undefined && clock.monotonic() < (backOff.retryAtMs ?? 0)) throw failureOf(backOff);
    try {
      const { plugin, resolved } = await this.#resolve(pod, volume, signal);
      use({ plugin, resolved: this.#components.labels?.labelled(pod, resolved, plugin) ?? resolved });
      ofPod.delete(volume.name);
    } catch (error) {
      signal.throwIfAborted();
      const isRefused = isRefusal(VolumeError.from(error));
      backOff.failed(error, isRefused ? undefined : MAX_RESOLVE_BACK_OFF_MS);
      this.#backOffs.set(uid, ofPod.set(volume.name, backOff));
      const failure = failureOf(backOff);
      if (isRefused) onRefused(pod, failure);
      throw failure;
    }
  }

  /** Drops the pod's state because the pod is being removed. */
  forget(podUid: string): void {
    this.#backOffs.delete(podUid);
  }

  async #resolve(pod: Pod, volume: Volume, signal: AbortSignal): Promise<TypedVolume> {
    const claim = claimOf(pod, volume);
    const ofClaim = claim && (await this.#claims?.specOf(pod, volume, claim, signal));
    const spec = ofClaim ?? inlineSpec(volume, pod.metadata.namespace);
    const plugin = await this.#components.plugins.newest(spec);
    checkPersistentVolume(spec, plugin);
    const resolved = (await plugin?.resolve?.(pod, spec, signal)) ?? podVolume(spec);
    return { plugin, resolved };
  }

  #pluginOf(spec: VolumeSpec): VolumePlugin | undefined {
    return this.#components.plugins.of(spec);
  }

  /**
   * Returns the spec of a volume without a PVC. Returns `undefined` for a volume with a PVC, and for an error, which
   * `resolve` reports.
   */
  #inlineSpec(pod: Pod, volume: Volume): VolumeSpec | undefined {
    if (this.#claims !== undefined && claimOf(pod, volume) !== undefined) return undefined;
    try {
      return inlineSpec(volume, pod.metadata.namespace);
    } catch {
      return undefined;
    }
  }
}

function failureOf({ failure, retryAtMs }: BackOff): VolumeError {
  const { code, message } = VolumeError.from(failure);
  return new VolumeError(code, message, failure, { retryAtMs });
}

/**
 * Checks that this kubelet supports the persistent volume's type and mount options. @throws VolumeError
 * `UnsupportedVolume`, `UnsupportedMount`
 */
function checkPersistentVolume({ persistent }: VolumeSpec, plugin: VolumePlugin | undefined): void {
  if (persistent === undefined) return;
  const { name = '' } = persistent.metadata;
  if (plugin === undefined) {
    const why = `type ${persistentVolumeType(persistent)} is not supported by this kubelet`;
    throw new VolumeError('UnsupportedVolume', `failed to get Plugin from volumeSpec for volume "${name}" err=${why}`);
  }
  if (mountOptionsOf(persistent).length === 0 || plugin.isBlock || plugin.takesMountOptions) return;
  const why = 'mount options are not supported for this volume type';
  const message = `MountVolume.MountOptionSupport check failed for volume "${name}" : ${why}`;
  throw new VolumeError('UnsupportedMount', message);
}
