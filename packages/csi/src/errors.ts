import { brand, hasBrand } from '@node-agent/async';
import type { CsiFailure } from '@node-agent/contracts';
import type { GrpcCode } from '@node-agent/grpc';

/**
 * Code of a {@link CsiError}: the gRPC code of a failed call, or one of the following codes. `InvalidRequest`: the call
 * was not made, because its arguments are not valid. `InvalidResponse`: the driver's response cannot be used.
 * `Rejected`: the driver cannot be registered.
 */
export type CsiErrorCode = GrpcCode | 'InvalidRequest' | 'InvalidResponse' | 'Rejected';

/** Constructor options of {@link CsiError}. */
export interface CsiErrorOptions {
  readonly code: CsiErrorCode;
  readonly isFinal: boolean;
  /** Name of the driver. */
  readonly driver: string;
  /** Name of the call, for example `NodeStageVolume`. */
  readonly call: string;
  readonly cause?: unknown;
}

const BRAND = '@node-agent/csi.CsiError';

/**
 * Error of a failed call of a CSI driver, or of a driver that was rejected. The message of a failed call is that of a
 * Go client: `rpc error: code = Internal desc = ...`. No message contains the value of a secret.
 */
export class CsiError extends Error implements CsiFailure {
  static {
    brand(CsiError, BRAND);
  }

  override readonly name = 'CsiError';
  readonly code: CsiErrorCode;
  readonly isFinal: boolean;
  readonly driver: string;
  readonly call: string;

  constructor(message: string, { code, isFinal, driver, call, cause }: CsiErrorOptions) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.isFinal = isFinal;
    this.driver = driver;
    this.call = call;
  }

  /** Returns whether `value` is a `CsiError`, created by this or another copy of the package. */
  static is(value: unknown): value is CsiError {
    return hasBrand(value, BRAND);
  }
}
