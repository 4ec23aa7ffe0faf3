import { brand, hasBrand } from '@node-agent/async';

/** Codes of request errors that are detected before anything is sent. */
export type PodNetErrorCode = 'InvalidPort' | 'InvalidUrl';

const BRAND = '@node-agent/pod-net.PodNetError';

/** The only error that this package throws. Failures of the target are returned as values instead. */
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

  /** Returns whether a value is a `PodNetError`, even if another copy of this package created it. */
  static is(value: unknown): value is PodNetError {
    return hasBrand(value, BRAND);
  }
}
