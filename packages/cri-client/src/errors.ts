import { brand, hasBrand } from '@node-agent/async';
import { type GrpcCode, goCodeName, grpcCode } from '@node-agent/grpc';

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
   * Any thrown value as a `CriError`: one that is one stays itself; a gRPC status error keeps its code and details; an
   * `AbortError` is `CANCELLED`; anything else is `UNKNOWN`.
   */
  static from(error: unknown, rpc: string = ''): CriError {
    if (CriError.is(error)) return error;
    if (!(error instanceof Error)) return new CriError({ rpc, code: 'UNKNOWN', details: String(error), cause: error });
    if ('code' in error && typeof error.code === 'number' && 'details' in error && typeof error.details === 'string') {
      // grpc-js ends some details with the beginning of a note that it then has nothing to say in.
      const details = error.details.replace(/\.? Resolution note: $/, '');
      return new CriError({ rpc, code: grpcCode(error.code), details, cause: error });
    }
    const code = error.name === 'AbortError' ? 'CANCELLED' : 'UNKNOWN';
    return new CriError({ rpc, code, details: error.message, cause: error });
  }
}
