import { brand, hasBrand } from '@node-agent/async';

/**
 * - `InvalidOptions`: what the manager or a reader was asked for makes no sense.
 * - `UnsupportedFormat`: the file is no log in the CRI's format, nor in Docker's.
 * - `NotFound`: there is no log file.
 * - `Rotation`: a log could not be rotated; it goes on as it was.
 */
export type ContainerLogErrorCode = 'InvalidOptions' | 'UnsupportedFormat' | 'NotFound' | 'Rotation';

const BRAND = '@node-agent/container-logs.ContainerLogError';

/** The one error of this package; what the file system and the runtime throw is handed on as it is. */
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

  /** Whether a value is a `ContainerLogError`, of this copy of the package or of another one. */
  static is(value: unknown): value is ContainerLogError {
    return hasBrand(value, BRAND);
  }
}
