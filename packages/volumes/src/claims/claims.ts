import type { Pod, Volume } from '@node-agent/pod-spec';
import { errorText } from '@node-agent/telemetry';
import { VolumeError } from '../errors.ts';
import type { VolumeSpec } from '../manager/resolved-volume.ts';
import { csiForm } from '../migration/translation.ts';
import {
  bindingProblem,
  type ClaimReference,
  checkNodeAffinity,
  claimProblem,
  modeProblem,
  ownerProblem,
} from './claim-rule.ts';
import type { ClaimSource, PersistentVolumeData } from './claim-source.ts';

/**
 * Resolves PVCs of pods to persistent volumes (`createVolumeSpec` of `pkg/kubelet/volumemanager/populator`). Each call
 * reads the PVC and its persistent volume again; callers stop calling when the volume is ready.
 */
export class Claims {
  readonly #source: ClaimSource;

  constructor(source: ClaimSource) {
    this.#source = source;
  }

  /**
   * Returns the spec of a volume with a PVC. @throws VolumeError `ClaimUnusable`, `WrongNode` or `InvalidSource`; the
   * signal's reason
   */
  async specOf(pod: Pod, volume: Volume, claim: ClaimReference, signal: AbortSignal): Promise<VolumeSpec> {
    const { namespace } = pod.metadata;
    const bound = await this.#boundTo(pod, claim, signal).catch((error: unknown) => {
      signal.throwIfAborted();
      // A `ClaimUnusable` error already names the PVC and the pod, so it is not wrapped.
      if (VolumeError.is(error) && error.code === 'ClaimUnusable') throw error;
      throw unusable(`error processing PVC ${namespace}/${claim.name}: ${errorText(error)}`, error);
    });
    const persistent = csiForm(bound);
    const name = persistent.metadata.name ?? '';
    const problem = modeProblem(name, persistent, pod, volume);
    if (problem !== undefined) throw unusable(problem);
    checkNodeAffinity(name, persistent, this.#source.nodeLabels());
    return {
      ...{ volume, persistent, readOnly: claim.readOnly, claim: { namespace, name: claim.name } },
      ...(persistent !== bound && { isMigrated: true }),
    };
  }

  async #boundTo(pod: Pod, { name, isEphemeral }: ClaimReference, signal: AbortSignal): Promise<PersistentVolumeData> {
    const reading = this.#source.getClaim(pod.metadata.namespace, name, signal);
    const claim = await fetched('PVC', 'persistentvolumeclaims', name, reading);
    const notBound = claimProblem(claim);
    if (notBound !== undefined) throw new Error(notBound);
    const foreign = isEphemeral ? ownerProblem(claim, pod) : undefined;
    if (foreign !== undefined) throw unusable(foreign);
    const volumeName = claim.spec?.volumeName ?? '';
    const readingVolume = this.#source.getPersistentVolume(volumeName, signal);
    const persistent = await fetched(`PV ${volumeName}`, 'persistentvolumes', volumeName, readingVolume);
    const problem = bindingProblem(volumeName, persistent, claim);
    if (problem !== undefined) throw new Error(problem);
    return persistent;
  }
}

/**
 * Returns the object that a request resolves to. @throws Error with upstream's message if the read fails or the object
 * does not exist
 */
async function fetched<T>(what: string, resource: string, name: string, reading: Promise<T | undefined>): Promise<T> {
  const why = (text: string): string => `failed to fetch ${what} from API server: ${text}`;
  const found = await reading.catch((error: unknown) => {
    throw new Error(why(errorText(error)), { cause: error });
  });
  if (found === undefined) throw new Error(why(`${resource} "${name}" not found`));
  return found;
}

function unusable(message: string, cause?: unknown): VolumeError {
  return new VolumeError('ClaimUnusable', message, cause);
}
