import type { Pod, Volume } from '@node-agent/pod-spec';
import { VolumeError } from '../errors.ts';
import type { SizeComparisons } from './size-comparisons.ts';
import { type ActionHelpers, volumeActions } from './volume-actions.ts';
import type { VolumeOperations } from './volume-operations.ts';
import type { VolumeOutcome } from './volume-outcomes.ts';
import { isRefusal, type TypedVolume, type VolumeResolver, volumeId } from './volume-resolver.ts';

/** Dependencies of {@link VolumeRequests}. */
export interface VolumeRequestsComponents {
  readonly resolver: VolumeResolver;
  readonly operations: Pick<VolumeOperations, 'renew' | 'want'>;
  readonly sizes: Pick<SizeComparisons, 'compare'>;
  readonly helpers: ActionHelpers;
  /** Signal that is aborted when the volume manager stops. */
  readonly life: AbortSignal;
}

/** Resolves and requests the volumes of pods. */
export class VolumeRequests {
  readonly #components: VolumeRequestsComponents;

  constructor(components: VolumeRequestsComponents) {
    this.#components = components;
  }

  /**
   * Requests a volume. A ready volume is not resolved again, so that its pod keeps working while the API server is
   * unavailable (K3).
   * @param unknown contains the volume's name until the volume's identity is known
   * @returns why the identity is unknown
   */
  async want(pod: Pod, volume: Volume, unknown: Set<string>, signal: AbortSignal): Promise<VolumeOutcome | undefined> {
    const { resolver, operations, sizes, life } = this.#components;
    const { name } = volume;
    const known = resolver.known(pod, volume);
    if (known !== undefined) {
      this.#want(pod, known);
      return undefined;
    }
    if (operations.renew(pod, name)) {
      void sizes.compare(pod.metadata.uid, name, life);
      return undefined;
    }
    unknown.add(name);
    try {
      await resolver.resolve(pod, volume, signal, (typed) => this.#want(pod, typed));
    } catch (error) {
      signal.throwIfAborted();
      const failure = VolumeError.from(error);
      if (isRefusal(failure)) unknown.delete(name);
      return { name, failure, retryAtMs: failure.retryAtMs };
    }
    unknown.delete(name);
    return undefined;
  }

  #want(pod: Pod, typed: TypedVolume): void {
    const { operations, helpers } = this.#components;
    const { plugin, resolved } = typed;
    const { directoryName, node } = resolved;
    const actions = volumeActions(helpers, {
      ...{ podUid: pod.metadata.uid, directoryName, plugin, node },
      inlineDriver: resolved.volume.csi?.driver,
    });
    operations.want(pod, resolved, volumeId(typed), actions);
  }
}
