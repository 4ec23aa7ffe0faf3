import { brand, hasBrand } from '@node-agent/async';
import { errorText } from '@node-agent/telemetry';

/**
 * Reasons why an operation failed: an invalid host name of the pod, an invalid resolver file of the node, or a failed
 * file operation.
 */
export type NetworkErrorCode = 'InvalidHostname' | 'InvalidResolvConf' | 'Io';

const BRAND = '@node-agent/network.NetworkError';

/** The only error that this package throws. The message of the error may be used in a pod event. */
export class NetworkError extends Error {
  static {
    brand(NetworkError, BRAND);
  }

  override readonly name = 'NetworkError';
  readonly code: NetworkErrorCode;

  constructor(code: NetworkErrorCode, message: string, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.code = code;
  }

  /** Returns whether a value is a `NetworkError`, of this or of another copy of the package. */
  static is(value: unknown): value is NetworkError {
    return hasBrand(value, BRAND);
  }

  /** Returns a `NetworkError` unchanged; any other error becomes the cause of an `Io` error. */
  static from(error: unknown): NetworkError {
    if (NetworkError.is(error)) return error;
    return new NetworkError('Io', errorText(error), { cause: error });
  }
}
