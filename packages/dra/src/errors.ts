import { brand, hasBrand } from '@node-agent/async';

/**
 * Error codes of `DraError`. `CorruptCheckpoint`: the checkpoint file is invalid or cannot be read, so no claim is
 * prepared. `CheckpointNotWritten`: the claims could not be stored on disk, so no driver is called. `ClaimUnusable`:
 * the pod may not use the claim. `DeviceInUse`: another claim still holds a device. `DriverMissing`: no plugin of the
 * driver is registered. `DriverFailed`: the call failed, or the response is invalid. `NotPrepared`: a container asks
 * for a claim that was not prepared.
 */
export type DraErrorCode =
  | 'CorruptCheckpoint'
  | 'CheckpointNotWritten'
  | 'ClaimUnusable'
  | 'DeviceInUse'
  | 'DriverMissing'
  | 'DriverFailed'
  | 'NotPrepared';

const BRAND = '@node-agent/dra.DraError';

/** Error of preparing or unpreparing ResourceClaims. Messages do not name the pod. */
export class DraError extends Error {
  static {
    brand(DraError, BRAND);
  }

  override readonly name = 'DraError';
  readonly code: DraErrorCode;

  constructor(code: DraErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }

  /** Returns whether `value` is a `DraError`, created by this or another copy of the package. */
  static is(value: unknown): value is DraError {
    return hasBrand(value, BRAND);
  }
}
