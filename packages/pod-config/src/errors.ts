import { brand, hasBrand } from '@node-agent/async';

/**
 * `Closed`: the stream of changes has ended, so sources that are not ready will not become ready. `InvalidPods`: a
 * source passed something other than a list of pods.
 */
export type PodConfigErrorCode = 'Closed' | 'InvalidPods';

const BRAND = '@node-agent/pod-config.PodConfigError';

/** Error for wrong use of a `PodConfig`. Problems of manifests are in the `problems` of their source. */
export class PodConfigError extends Error {
  static {
    brand(PodConfigError, BRAND);
  }

  override readonly name = 'PodConfigError';
  readonly code: PodConfigErrorCode;

  constructor(code: PodConfigErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }

  /** Returns whether a value is a `PodConfigError` of this copy of the package or of another copy. */
  static is(value: unknown): value is PodConfigError {
    return hasBrand(value, BRAND);
  }
}
