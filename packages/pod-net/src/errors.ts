import { brand, hasBrand } from '@node-agent/async';

/** What can be wrong with a request before anything is sent. */
export type PodNetErrorCode = 'InvalidPort' | 'InvalidUrl';

const BRAND = '@node-agent/pod-net.PodNetError';

/** The one error that this package throws; what a target does is told as a value instead. */
export class PodNetError extends Error {
  static {
    brand(PodNetError, BRAND);
  }

  readonly code: PodNetErrorCode;

  constructor(code: PodNetErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'PodNetError';
    this.code = code;
  }

  /** Whether a value is a `PodNetError`, of this copy of the package or of another one. */
  static is(value: unknown): value is PodNetError {
    return hasBrand(value, BRAND);
  }
}
