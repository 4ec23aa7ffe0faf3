import { brand, hasBrand } from '@node-agent/async';

/**
 * Error codes of `DeviceError`. `CorruptCheckpoint`: the checkpoint file is invalid. `CheckpointNotWritten`: the
 * allocation could not be stored, so no device may be used, because the allocation would be lost in a crash. `Refused`:
 * a container cannot get the devices that it requests; the message is upstream's.
 */
export type DeviceErrorCode = 'CorruptCheckpoint' | 'CheckpointNotWritten' | 'Refused';

const BRAND = '@node-agent/device-manager.DeviceError';

/** Error of a device allocation. */
export class DeviceError extends Error {
  static {
    brand(DeviceError, BRAND);
  }

  override readonly name = 'DeviceError';
  readonly code: DeviceErrorCode;

  constructor(code: DeviceErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }

  /** Returns whether `value` is a `DeviceError`, created by this or another copy of the package. */
  static is(value: unknown): value is DeviceError {
    return hasBrand(value, BRAND);
  }
}
