import { errorText } from '@node-agent/telemetry';
/** What went wrong: the pod's host name, the node's resolver file, or a file operation on the way. */
export type NetworkErrorCode = 'InvalidHostname' | 'InvalidResolvConf' | 'Io';

/** The one error of this package. The message is fit for a pod event. */
export class NetworkError extends Error {
  override readonly name = 'NetworkError';
  readonly code: NetworkErrorCode;

  constructor(code: NetworkErrorCode, message: string, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.code = code;
  }

  /** `error` itself where it is one already, else an `Io` error with it as cause. */
  static from(error: unknown): NetworkError {
    if (error instanceof NetworkError) return error;
    return new NetworkError('Io', errorText(error), { cause: error });
  }
}
