import { brand, hasBrand } from '@node-agent/async';

/**
 * - `InvalidOptions`: an option of the manager or a reader is not valid.
 * - `UnsupportedFormat`: the file is not a log in the CRI format or Docker's format.
 * - `NotFound`: the log file does not exist.
 * - `Rotation`: a log could not be rotated; the runtime keeps writing to the old file.
 */
export type ContainerLogErrorCode = 'InvalidOptions' | 'UnsupportedFormat' | 'NotFound' | 'Rotation';

const BRAND = '@node-agent/container-logs.ContainerLogError';

/** Error of this package. Errors of the file system and the runtime are passed on unchanged. */
export class ContainerLogError extends Error {
  static {
    brand(ContainerLogError, BRAND);
  }

  override readonly name = 'ContainerLogError';
  readonly code: ContainerLogErrorCode;

  constructor(code: ContainerLogErrorCode, message: string, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.code = code;
  }

  /** Returns whether a value is a `ContainerLogError` of this copy of the package or of another copy. */
  static is(value: unknown): value is ContainerLogError {
    return hasBrand(value, BRAND);
  }
}
