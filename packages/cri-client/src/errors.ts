import { brand, hasBrand } from '@node-agent/async';
import { type GrpcCode, GrpcError, goCodeName } from '@node-agent/grpc';

export { grpcStatus } from '@node-agent/grpc';

/** Name of the gRPC code of a failed call. A call whose signal was aborted also fails with `CANCELLED`. */
export type CriErrorCode = GrpcCode;

/** Parts of a {@link CriError}. */
export interface CriErrorOptions {
  readonly rpc: string;
  readonly code: CriErrorCode;
  readonly details: string;
  readonly cause?: unknown;
}

const BRAND = '@node-agent/cri-client.CriError';

/** Error of a failed call to the runtime. The message is `<rpc>: <code>: <details of the runtime>`. */
export class CriError extends Error {
  static {
    brand(CriError, BRAND);
  }

  override readonly name = 'CriError';
  readonly code: CriErrorCode;
  /** Name of the RPC in the .proto file (`RunPodSandbox`). Empty if no call was made. */
  readonly rpc: string;
  /**
   * Error text of the runtime, unchanged, because callers depend on parts of it (the `ErrImagePull` reasons, for
   * example).
   */
  readonly details: string;

  constructor({ rpc, code, details, cause }: CriErrorOptions) {
    super(`${rpc === '' ? '' : `${rpc}: `}${code}: ${details}`, cause === undefined ? undefined : { cause });
    this.rpc = rpc;
    this.code = code;
    this.details = details;
  }

  /**
   * Returns the error in the format of a Go client, `rpc error: code = NotFound desc = …`, as events and conditions
   * show it.
   */
  get statusMessage(): string {
    return `rpc error: code = ${goCodeName(this.code)} desc = ${this.details}`;
  }

  /** Returns whether a value is a `CriError` of this copy of the package or of another copy. */
  static is(value: unknown): value is CriError {
    return hasBrand(value, BRAND);
  }

  /**
   * Converts any thrown value into a `CriError`. A `CriError` is returned unchanged. For other values `GrpcError.from`
   * determines the code and the details.
   */
  static from(error: unknown, rpc: string = ''): CriError {
    if (CriError.is(error)) return error;
    const { code, details } = GrpcError.from(error);
    return new CriError({ rpc, code, details, cause: error });
  }
}
