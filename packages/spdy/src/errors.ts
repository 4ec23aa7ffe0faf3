import { brand, hasBrand } from '@node-agent/async';

/**
 * What went wrong with a connection or a stream. `Protocol`: what came is not SPDY/3.1. `TooLarge`: it is more than is read.
 * `Reset`: the other end has reset the stream. `Closed`: the connection has ended.
 */
export type SpdyErrorCode = 'Protocol' | 'TooLarge' | 'Reset' | 'Closed';

const BRAND = '@node-agent/spdy.SpdyError';

/** The one error of this package. */
export class SpdyError extends Error {
  static {
    brand(SpdyError, BRAND);
  }

  override readonly name = 'SpdyError';
  readonly code: SpdyErrorCode;

  constructor(code: SpdyErrorCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
  }

  /** Whether a value is a `SpdyError`, of this copy of the package or of another one. */
  static is(value: unknown): value is SpdyError {
    return hasBrand(value, BRAND);
  }
}
