import { type Clock, KeyedMutex } from '@node-agent/async';
import { type Pod, parseQuantity, podReference } from '@node-agent/pod-spec';
import { type EventRecorder, errorText, eventReasons, type Logger } from '@node-agent/telemetry';
import type { ClaimData, ClaimSource, PersistentVolumeData } from '../claims/claim-source.ts';
import { codeOf, isInfeasibleCode } from '../csi/driver-codes.ts';
import { VolumeError } from '../errors.ts';
import type { ResolvedVolume } from '../manager/resolved-volume.ts';
import { csiForm } from '../migration/translation.ts';
import { type ExpansionStep, failedPatch, finishedPatch, inProgressPatch, nextExpansion } from './expansion-rule.ts';

/** Dependencies of {@link VolumeExpander}. */
export interface VolumeExpanderComponents {
  readonly claims: ClaimSource | undefined;
  readonly clock: Pick<Clock, 'now'>;
  readonly logger: Logger;
  readonly recorder: EventRecorder;
}

/**
 * Expands a volume on this node to a size in bytes. @param formerBytes current size of the volume on this node; 0 if
 * not known. @throws VolumeError
 */
export type ExpandOnNode = (
  persistent: PersistentVolumeData,
  bytes: bigint,
  signal: AbortSignal,
  formerBytes: bigint,
) => Promise<void>;

interface State {
  /** Size that the volume has on this node. */
  size: string | undefined;
  hasFailed: boolean;
  /** Whether the driver refused to expand the volume because it is in use. */
  isInUse: boolean;
}

/**
 * Expands volumes on this node after a controller has expanded them, and reports that in the PVC's status
 * (`node_expander.go` of `pkg/volume/util/operationexecutor`).
 */
export class VolumeExpander {
  readonly #components: VolumeExpanderComponents;
  readonly #states = new Map<string, State>();
  readonly #volumes = new KeyedMutex<string>();

  constructor(components: VolumeExpanderComponents) {
    this.#components = components;
  }

  /** Returns whether a ready volume must be expanded. Returns false if a read fails; a later call reads again. */
  async isDue(volume: ResolvedVolume, signal: AbortSignal): Promise<boolean> {
    const found = await this.#read(volume, signal).catch(() => undefined);
    if (found === undefined || this.#stateOf(volume).isInUse) return false;
    return this.#next(volume, found).step === 'expand';
  }

  /**
   * Expands a volume if an expansion is due. Calls for a volume that several pods share run one after another. @param
   * expand called with the requested size. @throws VolumeError `ExpandFailed`
   */
  async expand(pod: Pod, volume: ResolvedVolume, expand: ExpandOnNode, signal: AbortSignal): Promise<void> {
    await this.#volumes.run(nameOf(volume), () => this.#expandNow(pod, volume, expand, signal), signal);
  }

  async #expandNow(pod: Pod, volume: ResolvedVolume, expand: ExpandOnNode, signal: AbortSignal): Promise<void> {
    const found = await this.#read(volume, signal).catch((error: unknown) => {
      signal.throwIfAborted();
      throw new VolumeError('ExpandFailed', `mountVolume.NodeExpandVolume get PVC failed : ${errorText(error)}`, error);
    });
    if (found === undefined) return;
    const next = this.#next(volume, found);
    if (next.step === 'readOnly') {
      const why = `MountVolume.NodeExpandVolume failed for volume "${volume.directoryName}" requested read-only file system`;
      this.#tell(pod, found.claim, 'Warning', eventReasons.fileSystemResizeFailed, why);
    }
    if (next.step === 'expand') await this.#expand(pod, volume, found, next, expand, signal);
  }

  /**
   * Drops the state of a volume that this node no longer uses. @param name unique name of the node volume, or else the
   * name of the volume's directory
   */
  forget(name: string): void {
    this.#states.delete(name);
  }

  async #expand(
    pod: Pod,
    volume: ResolvedVolume,
    { claim: before, persistent }: Found,
    { size, updatesClaim, isFollowed, endsOnFailure }: Extract<ExpansionStep, { step: 'expand' }>,
    expand: ExpandOnNode,
    signal: AbortSignal,
  ): Promise<void> {
    const state = this.#stateOf(volume);
    let claim = before;
    if (updatesClaim && isFollowed) claim = await this.#patch(claim, inProgressPatch(claim), signal);
    try {
      await expand(persistent, parseQuantity(size).value(), signal, parseQuantity(state.size ?? '0').value());
    } catch (error) {
      signal.throwIfAborted();
      const failure = VolumeError.from(error);
      // The driver does not expand volumes on nodes: the controller has expanded the volume completely.
      if (failure.code === 'ExpandUnsupported' && (!isFollowed || !updatesClaim)) {
        state.size = size;
        return;
      }
      const code = codeOf(failure);
      state.hasFailed ||= failure.effect === 'none';
      state.isInUse = code === 'FAILED_PRECONDITION';
      if (isFollowed && failure.effect === 'none') {
        const isInfeasible = isInfeasibleCode(code) || endsOnFailure;
        await this.#reportFailure(volume, claim, failure.message, isInfeasible, signal);
      }
      // The driver cannot expand the volume while it is in use. Pods may still use the volume with its old size.
      if (state.isInUse) return;
      throw new VolumeError('ExpandFailed', failure.message, failure);
    }
    state.hasFailed = false;
    const { nodeName = '' } = pod.spec;
    const message = `MountVolume.NodeExpandVolume succeeded for volume "${volume.directoryName}" ${nodeName}`;
    this.#tell(pod, claim, 'Normal', eventReasons.fileSystemResizeSuccess, message);
    // The expansion is finished only when the PVC has the new size; until then, the driver is called again.
    if (updatesClaim) await this.#patch(claim, finishedPatch(claim, size), signal);
    state.size = size;
  }

  /**
   * Writes a final failure to the PVC. The PVC is read again if it has changed during the driver's call. Upstream writes
   * without comparing the resource version. @throws the signal's reason
   */
  async #reportFailure(
    volume: ResolvedVolume,
    claim: ClaimData,
    why: string,
    isInfeasible: boolean,
    signal: AbortSignal,
  ): Promise<void> {
    const write = async (known: ClaimData): Promise<void> => {
      const patch = failedPatch(known, why, isInfeasible, this.#now());
      if (patch !== undefined) await this.#patch(known, patch, signal);
    };
    try {
      await write(claim).catch(async (error: unknown) => {
        signal.throwIfAborted();
        const found = await this.#read(volume, signal);
        if (found === undefined) throw error;
        await write(found.claim);
      });
    } catch (err) {
      signal.throwIfAborted();
      this.#components.logger.warn({ err, volume: volume.directoryName }, 'Failed to report a failed expansion');
    }
  }

  #next({ readOnly = false, ...volume }: ResolvedVolume, { claim, persistent }: Found): ExpansionStep {
    return nextExpansion(claim, persistent, readOnly, this.#stateOf({ readOnly, ...volume }));
  }

  /** The PVC's capacity when the volume was first seen is the size that the volume has on this node. */
  #stateOf(volume: ResolvedVolume): State {
    const name = nameOf(volume);
    const state = this.#states.get(name) ?? { size: undefined, hasFailed: false, isInUse: false };
    this.#states.set(name, state);
    return state;
  }

  async #read(volume: ResolvedVolume, signal: AbortSignal): Promise<Found | undefined> {
    const { claims } = this.#components;
    const { claim: reference, persistent: known } = volume;
    const name = known?.metadata.name;
    if (claims?.patchClaimStatus === undefined || reference === undefined || name === undefined) return undefined;
    const [claim, persistent] = await Promise.all([
      claims.getClaim(reference.namespace, reference.name, signal),
      claims.getPersistentVolume(name, signal),
    ]);
    if (claim === undefined || persistent === undefined) return undefined;
    const state = this.#stateOf(volume);
    state.size ??= claim.status?.capacity?.storage;
    return { claim, persistent: csiForm(persistent) };
  }

  async #patch(claim: ClaimData, patch: object, signal: AbortSignal): Promise<ClaimData> {
    const { namespace = '', name = '' } = claim.metadata;
    try {
      const patched = await this.#components.claims?.patchClaimStatus?.(namespace, name, patch, signal);
      return patched ?? claim;
    } catch (error) {
      signal.throwIfAborted();
      const why = `mountVolume.NodeExpandVolume update pvc status failed: ${errorText(error)}`;
      throw new VolumeError('ExpandFailed', why, error);
    }
  }

  #tell(pod: Pod, { metadata }: ClaimData, type: 'Normal' | 'Warning', reason: string, message: string): void {
    const { recorder } = this.#components;
    const { namespace = '', name = '', uid } = metadata;
    recorder.event(podReference(pod), type, reason, message);
    const claim = {
      kind: 'PersistentVolumeClaim',
      apiVersion: 'v1',
      namespace,
      name,
      ...(uid !== undefined && { uid }),
    };
    recorder.event(claim, type, reason, message);
  }

  #now(): string {
    return new Date(this.#components.clock.now()).toISOString().replace(/\.\d+Z$/, 'Z');
  }
}

function nameOf({ node, directoryName }: ResolvedVolume): string {
  return node?.uniqueName ?? directoryName;
}

interface Found {
  readonly claim: ClaimData;
  readonly persistent: PersistentVolumeData;
}
