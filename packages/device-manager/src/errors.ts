import { brand, hasBrand } from '@node-agent/async';

/**
 * `CorruptCheckpoint`: the file of who holds what is not what a kubelet writes. `CheckpointNotWritten`: nobody may be given a device,
 * as it would not be known after a crash. `Refused`: a container cannot be given what it asks for; the message is upstream's.
 */
export type DeviceErrorCode = 'CorruptCheckpoint' | 'CheckpointNotWritten' | 'Refused';

const BRAND = '@node-agent/device-manager.DeviceError';

/** Why a container has not got its devices. */
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

  /** Whether a value is a `DeviceError`, of this copy of the package or of another one. */
  static is(value: unknown): value is DeviceError {
    return hasBrand(value, BRAND);
  }
}
