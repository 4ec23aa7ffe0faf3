import { brand, hasBrand } from '@node-agent/async';
import { errorText } from '@node-agent/telemetry';

/** What went wrong: the pod's host name, the node's resolver file, or a file operation on the way. */
export type NetworkErrorCode = 'InvalidHostname' | 'InvalidResolvConf' | 'Io';

const BRAND = '@node-agent/network.NetworkError';

/** The one error of this package. The message is fit for a pod event. */
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

  /** Whether a value is a `NetworkError`, of this copy of the package or of another one. */
  static is(value: unknown): value is NetworkError {
    return hasBrand(value, BRAND);
  }

  /** `error` itself where it is one already, else an `Io` error with it as cause. */
  static from(error: unknown): NetworkError {
    if (NetworkError.is(error)) return error;
    return new NetworkError('Io', errorText(error), { cause: error });
  }
}
