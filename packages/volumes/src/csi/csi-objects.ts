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
 * Port that reads objects of the API server for CSI volumes. The asynchronous methods resolve to `undefined` if the
 * object does not exist, and reject if that cannot be determined.
 */
export interface CsiObjects {
  /** Returns the CSIDriver object of a driver. Waits until the CSIDriver objects were listed. */
  getCsiDriver(name: string, signal: AbortSignal): Promise<CsiDriverData | undefined>;
  /** Returns the newest known CSIDriver object of a driver without waiting. */
  knownCsiDriver(name: string): CsiDriverData | undefined;
  /** Reads a VolumeAttachment. The node authorizer does not allow a node to list them. */
  getVolumeAttachment(name: string, signal: AbortSignal): Promise<VolumeAttachmentData | undefined>;
  getSecret(namespace: string, name: string, signal: AbortSignal): Promise<SecretData | undefined>;
}

/** Request for a service account token that is bound to a pod. */
export interface CsiTokenRequest {
  /** Audience of the token; '' requests a token for the API server. */
  readonly audience: string;
  /** Validity of the token, in seconds. Default: one hour, as set by the API server. */
  readonly expirationSeconds?: number;
}

/**
 * Port that requests tokens of pods' service accounts, for drivers that require them (`tokenRequests` of a CSIDriver).
 */
export interface CsiTokens {
  requestToken(
    pod: Pod,
    request: CsiTokenRequest,
    signal: AbortSignal,
  ): Promise<{ readonly token: string; readonly expiresAtMs: number }>;
}
