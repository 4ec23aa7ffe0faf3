import { brand, hasBrand } from '@node-agent/async';
import { CriError } from '@node-agent/cri-client';
import { errorText } from '@node-agent/telemetry';

/** Waiting reasons of a container that are caused by its image (`pkg/kubelet/images/types.go`). */
export type ImageErrorCode =
  | 'ErrImagePull'
  | 'ImagePullBackOff'
  | 'InvalidImageName'
  | 'ErrImageNeverPull'
  | 'ImageInspectError'
  | 'RegistryUnavailable'
  | 'SignatureValidationFailed';

const BRAND = '@node-agent/images.ImageError';

/** An image is not available for a container. `code` is the waiting reason, and the message is shown to the user. */
export class ImageError extends Error {
  static {
    brand(ImageError, BRAND);
  }

  readonly code: ImageErrorCode;
  /**
   * Earliest time of the next pull on the monotonic clock; set only for `ImagePullBackOff`. After a failed pull the
   * container is synced earlier than that, meets the back-off and reports it.
   */
  readonly retryAtMs: number | undefined;

  constructor(code: ImageErrorCode, message: string, options: ErrorOptions & { readonly retryAtMs?: number } = {}) {
    super(message, options);
    this.name = 'ImageError';
    this.code = code;
    this.retryAtMs = options.retryAtMs;
  }

  /** Returns whether a value is an `ImageError` of this copy of the package or of another copy. */
  static is(value: unknown): value is ImageError {
    return hasBrand(value, BRAND);
  }
}

/**
 * Returns the text of a failed PullImage call. The code `UNKNOWN` is omitted, because it adds no information to an
 * event.
 */
export function pullErrorText(cause: unknown): string {
  return CriError.is(cause) && cause.code === 'UNKNOWN' ? cause.details : errorText(cause);
}

/**
 * Converts the error of a failed PullImage call. Two causes that a runtime can name at the start of its message have
 * their own reasons (`pkg/kubelet/images/image_manager.go`, evalCRIPullErr).
 */
export function pullError(image: string, cause: unknown): ImageError {
  const text = pullErrorText(cause);
  for (const [code, why] of [
    ['RegistryUnavailable', 'the registry is unavailable'],
    ['SignatureValidationFailed', 'the signature validation failed'],
  ] as const) {
    if (!text.startsWith(code)) continue;
    return new ImageError(code, `image pull failed for ${image} because ${why}${text.slice(code.length)}`, { cause });
  }
  return new ImageError('ErrImagePull', text, { cause });
}
