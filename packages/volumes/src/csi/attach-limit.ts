import { errorText, type Logger } from '@node-agent/telemetry';
import { VolumeError } from '../errors.ts';
import type { NodeVolume } from '../manager/resolved-volume.ts';
import { attachmentName, csiIdentity } from './csi-names.ts';
import type { CsiObjects, VolumeAttachmentData } from './csi-objects.ts';

/**
 * gRPC code with which a driver refuses to attach a volume because the node already has the maximum number of volumes.
 */
const RESOURCE_EXHAUSTED = 8;

/** Dependencies of {@link AttachLimit}. */
export interface AttachLimitComponents {
  readonly objects: Pick<CsiObjects, 'knownCsiDriver' | 'getVolumeAttachment'>;
  readonly logger: Logger;
  /** Queries a driver's maximum number of volumes on this node again, and reports it. */
  readonly refreshLimit: ((driver: string, signal: AbortSignal) => Promise<void>) | undefined;
}

/**
 * Determines whether a controller could not attach a volume because the node has the driver's maximum number of volumes
 * (`VerifyExhaustedResource` of `pkg/volume/csi/csi_plugin.go`). If so, the driver's current limit is reported, so that
 * the scheduler places no more pods here. Drivers whose limit never changes are skipped.
 */
export class AttachLimit {
  readonly #components: AttachLimitComponents;
  readonly #nodeName: string;

  constructor(components: AttachLimitComponents, nodeName: string) {
    this.#components = components;
    this.#nodeName = nodeName;
  }

  /**
   * Returns whether the node has the maximum number of volumes of this volume's driver; false if that cannot be
   * determined. @throws the signal's reason
   */
  async isExceeded({ uniqueName }: Pick<NodeVolume, 'uniqueName'>, signal: AbortSignal): Promise<boolean> {
    const { objects, logger, refreshLimit } = this.#components;
    const { driver, handle } = csiIdentity(uniqueName);
    if (!objects.knownCsiDriver(driver)?.spec.nodeAllocatableUpdatePeriodSeconds) return false;
    const name = attachmentName({ driver, handle }, this.#nodeName);
    try {
      if (!isExhausted(await objects.getVolumeAttachment(name, signal))) return false;
    } catch (error) {
      signal.throwIfAborted();
      logger.error({ err: VolumeError.from(error), volume: uniqueName }, 'Failed to get a volume attachment');
      return false;
    }
    await refreshLimit?.(driver, signal).catch((error: unknown) => {
      signal.throwIfAborted();
      logger.error({ err: errorText(error), driver }, 'Failed to update the volume limit of a CSI driver');
    });
    return true;
  }
}

/**
 * Returns whether a controller failed to attach the volume because the node has too many volumes
 * (`isResourceExhaustError`).
 */
function isExhausted(attachment: VolumeAttachmentData | undefined): boolean {
  return attachment?.status?.attachError?.errorCode === RESOURCE_EXHAUSTED;
}
