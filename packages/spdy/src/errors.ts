import { brand, hasBrand } from '@node-agent/async';

/**
 * Kinds of errors of a connection or stream:
 * - `Protocol`: the other end sent bytes that are not SPDY/3.1.
 * - `TooLarge`: a frame or header block exceeds its limit.
 * - `Reset`: the other end reset the stream.
 * - `Closed`: the connection has ended.
 */
export type SpdyErrorCode = 'Protocol' | 'TooLarge' | 'Reset' | 'Closed';

const BRAND = '@node-agent/spdy.SpdyError';

/** Error of a connection or a stream. */
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

  /** Reports whether a value is a `SpdyError` of this or another copy of the package. */
  static is(value: unknown): value is SpdyError {
    return hasBrand(value, BRAND);
  }
}
