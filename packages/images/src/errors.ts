import { brand, hasBrand } from '@node-agent/async';
import { CriError } from '@node-agent/cri-client';
import { errorText } from '@node-agent/telemetry';

/** The reasons that a container waits with, where its image is the cause (`pkg/kubelet/images/types.go`). */
export type ImageErrorCode =
  | 'ErrImagePull'
  | 'ImagePullBackOff'
  | 'InvalidImageName'
  | 'ErrImageNeverPull'
  | 'ImageInspectError'
  | 'RegistryUnavailable'
  | 'SignatureValidationFailed';

const BRAND = '@node-agent/images.ImageError';

/** An image is not there for a container; `code` is the waiting reason, the message what the user reads. */
export class ImageError extends Error {
  static {
    brand(ImageError, BRAND);
  }

  readonly code: ImageErrorCode;
  /**
   * When the next pull may be, by the monotonic clock: of `ImagePullBackOff` alone. Whoever has just seen a pull fail
   * comes back sooner, finds the back-off, and shows it.
   */
  readonly retryAtMs: number | undefined;

  constructor(code: ImageErrorCode, message: string, options: ErrorOptions & { readonly retryAtMs?: number } = {}) {
    super(message, options);
    this.name = 'ImageError';
    this.code = code;
    this.retryAtMs = options.retryAtMs;
  }

  /** Whether a value is a `ImageError`, of this copy of the package or of another one. */
  static is(value: unknown): value is ImageError {
    return hasBrand(value, BRAND);
  }
}

/** What a failed PullImage call says: a code that tells nothing is left out of it, for whoever reads the events. */
export function pullErrorText(cause: unknown): string {
  return CriError.is(cause) && cause.code === 'UNKNOWN' ? cause.details : errorText(cause);
}

/**
 * What a failed PullImage call means: two causes that a runtime can name in front of its message have a reason of
 * their own (`pkg/kubelet/images/image_manager.go`, evalCRIPullErr).
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
