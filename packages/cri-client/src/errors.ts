import { brand, hasBrand } from '@node-agent/async';
import { type GrpcCode, GrpcError, goCodeName } from '@node-agent/grpc';

export { grpcStatus } from '@node-agent/grpc';

/** Why a call failed: the gRPC code's name. `CANCELLED` is also what an aborted signal gives. */
export type CriErrorCode = GrpcCode;

/** What {@link CriError} says beside its message. */
export interface CriErrorOptions {
  readonly rpc: string;
  readonly code: CriErrorCode;
  readonly details: string;
  readonly cause?: unknown;
}

const BRAND = '@node-agent/cri-client.CriError';

/** A call of the runtime that failed. Its message is `<rpc>: <code>: <what the runtime said>`. */
export class CriError extends Error {
  static {
    brand(CriError, BRAND);
  }

  override readonly name = 'CriError';
  readonly code: CriErrorCode;
  /** The RPC's name in the .proto (`RunPodSandbox`); empty where no call was made. */
  readonly rpc: string;
  /** What the runtime said, word for word: some of it is part of the contract (`ErrImagePull` reasons, for example). */
  readonly details: string;

  constructor({ rpc, code, details, cause }: CriErrorOptions) {
    super(`${rpc === '' ? '' : `${rpc}: `}${code}: ${details}`, cause === undefined ? undefined : { cause });
    this.rpc = rpc;
    this.code = code;
    this.details = details;
  }

  /** The same in the words of a Go client: `rpc error: code = NotFound desc = …`, as events and conditions have it. */
  get statusMessage(): string {
    return `rpc error: code = ${goCodeName(this.code)} desc = ${this.details}`;
  }

  /** Whether a value is a `CriError`, of this copy of the package or of another one. */
  static is(value: unknown): value is CriError {
    return hasBrand(value, BRAND);
  }

  /**
   * Any thrown value as a `CriError`: one that is one stays itself; of anything else the code and the details are those of
   * `GrpcError.from`.
   */
  static from(error: unknown, rpc: string = ''): CriError {
    if (CriError.is(error)) return error;
    const { code, details } = GrpcError.from(error);
    return new CriError({ rpc, code, details, cause: error });
  }
}
