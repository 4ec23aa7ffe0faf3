import { brand, hasBrand } from '@node-agent/async';
import { errorText } from '@node-agent/telemetry';

/**
 * `InvalidOptions`: the policy or the number of bytes to free is not valid; the message names the field. `Unavailable`:
 * the runtime does not report where its images are or which images a container mounts, or their file system cannot be
 * read. `InvalidCapacity`: the image file system has a size of 0. `InsufficientSpace`: all removable images were
 * removed, but the space is still too small. `RemovalFailed`: some images could not be removed.
 */
export type ImageGcErrorCode =
  | 'InvalidOptions'
  | 'Unavailable'
  | 'InvalidCapacity'
  | 'InsufficientSpace'
  | 'RemovalFailed';

const BRAND = '@node-agent/image-gc.ImageGcError';

/** Error of an image garbage collection. The next collection tries again. */
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

  /** Returns whether a value is an `ImageGcError` of this copy of the package or of another copy. */
  static is(value: unknown): value is ImageGcError {
    return hasBrand(value, BRAND);
  }
}

/** Combines several errors into one, with the code and the cause of the first. */
export function together(errors: readonly unknown[]): unknown {
  const [first] = errors;
  if (errors.length === 1) return first;
  const code = ImageGcError.is(first) ? first.code : 'RemovalFailed';
  return new ImageGcError(code, errors.map(errorText).join('; '), { cause: first });
}
