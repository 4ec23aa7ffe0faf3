import type { Pod } from '@node-agent/pod-spec';
import type { CSIDriver, VolumeAttachment } from '@node-agent/pod-spec/api';
import type { SecretData } from '../projected/sources.ts';

/** The part of a storage/v1 CSIDriver that volumes need. */
export type CsiDriverData = Pick<CSIDriver, 'spec'>;

/** The part of a storage/v1 VolumeAttachment that volumes need. */
export type VolumeAttachmentData = Pick<VolumeAttachment, 'status'> & {
  readonly metadata: Pick<VolumeAttachment['metadata'], 'deletionTimestamp'>;
};

/**
 * Port to the API server's objects that CSI volumes need. The asynchronous methods resolve to `undefined` if the object
 * does not exist, and reject if that cannot be determined.
 */
export interface CsiObjects {
  /** Returns the CSIDriver of a driver; waits until the list of CSIDrivers is known. */
  getCsiDriver(name: string, signal: AbortSignal): Promise<CsiDriverData | undefined>;
  /** Returns the newest known CSIDriver of a driver without waiting. */
  knownCsiDriver(name: string): CsiDriverData | undefined;
  /** Reads a VolumeAttachment. The node authorizer does not allow a node to list them. */
  getVolumeAttachment(name: string, signal: AbortSignal): Promise<VolumeAttachmentData | undefined>;
  getSecret(namespace: string, name: string, signal: AbortSignal): Promise<SecretData | undefined>;
}

/** Request for a service account token that is bound to a pod. */
export interface CsiTokenRequest {
  /** '' requests a token for the API server's audience. */
  readonly audience: string;
  /** Default: the API server's, one hour. */
  readonly expirationSeconds?: number;
}

/** Port to tokens of pods' service accounts, for drivers that request them (`tokenRequests` of a CSIDriver). */
export interface CsiTokens {
  requestToken(
    pod: Pod,
    request: CsiTokenRequest,
    signal: AbortSignal,
  ): Promise<{ readonly token: string; readonly expiresAtMs: number }>;
}
