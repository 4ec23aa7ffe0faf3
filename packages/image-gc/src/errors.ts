import { brand, hasBrand } from '@node-agent/async';
import { errorText } from '@node-agent/telemetry';

/**
 * `InvalidOptions`: the policy, or how many bytes are to be freed, is nonsense; the message names the field. `Unavailable`: the runtime does
 * not say where its images are, or which of them a container mounts, or their file system cannot be looked at. `InvalidCapacity`: the file system of images has a size of 0. `InsufficientSpace`: all that may go is
 * gone, and that is not enough. `RemovalFailed`: images that were to go could not be removed.
 */
export type ImageGcErrorCode =
  | 'InvalidOptions'
  | 'Unavailable'
  | 'InvalidCapacity'
  | 'InsufficientSpace'
  | 'RemovalFailed';

const BRAND = '@node-agent/image-gc.ImageGcError';

/** What a collection of images could not do. The next one tries again. */
export class ImageGcError extends Error {
  static {
    brand(ImageGcError, BRAND);
  }

  override readonly name = 'ImageGcError';
  readonly code: ImageGcErrorCode;

  constructor(code: ImageGcErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }

  /** Whether a value is an `ImageGcError`, of this copy of the package or of another one. */
  static is(value: unknown): value is ImageGcError {
    return hasBrand(value, BRAND);
  }
}

/** One error for several, with the code and the cause of the first. */
export function together(errors: readonly unknown[]): unknown {
  const [first] = errors;
  if (errors.length === 1) return first;
  const code = ImageGcError.is(first) ? first.code : 'RemovalFailed';
  return new ImageGcError(code, errors.map(errorText).join('; '), { cause: first });
}
