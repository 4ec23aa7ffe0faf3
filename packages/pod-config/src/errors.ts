import { brand, hasBrand } from '@node-agent/async';

/** `Closed`: there are no changes any more, and sources that have not spoken never will. `InvalidPods`: what a source gave is no list of pods. */
export type PodConfigErrorCode = 'Closed' | 'InvalidPods';

const BRAND = '@node-agent/pod-config.PodConfigError';

/** What is wrong with how a `PodConfig` is used; what is wrong with manifests are `problems` of their source. */
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

  /** Whether a value is a `PodConfigError`, of this copy of the package or of another one. */
  static is(value: unknown): value is PodConfigError {
    return hasBrand(value, BRAND);
  }
}
