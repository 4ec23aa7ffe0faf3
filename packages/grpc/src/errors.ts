import { brand, hasBrand } from '@node-agent/async';

/** The name of a gRPC status code. A call whose signal was aborted also fails with `CANCELLED`. */
export type GrpcCode =
  | 'CANCELLED'
  | 'UNKNOWN'
  | 'INVALID_ARGUMENT'
  | 'DEADLINE_EXCEEDED'
  | 'NOT_FOUND'
  | 'ALREADY_EXISTS'
  | 'PERMISSION_DENIED'
  | 'RESOURCE_EXHAUSTED'
  | 'FAILED_PRECONDITION'
  | 'ABORTED'
  | 'OUT_OF_RANGE'
  | 'UNIMPLEMENTED'
  | 'INTERNAL'
  | 'UNAVAILABLE'
  | 'DATA_LOSS'
  | 'UNAUTHENTICATED';

/**
 * Names of gRPC's status codes (`google.golang.org/grpc/codes`) in the order of their numbers. The list starts at
 * number 1, because 0 is OK.
 */
const CODES: readonly GrpcCode[] = [
  'CANCELLED',
  'UNKNOWN',
  'INVALID_ARGUMENT',
  'DEADLINE_EXCEEDED',
  'NOT_FOUND',
  'ALREADY_EXISTS',
  'PERMISSION_DENIED',
  'RESOURCE_EXHAUSTED',
  'FAILED_PRECONDITION',
  'ABORTED',
  'OUT_OF_RANGE',
  'UNIMPLEMENTED',
  'INTERNAL',
  'UNAVAILABLE',
  'DATA_LOSS',
  'UNAUTHENTICATED',
];

/** Returns the name of a gRPC status code, or `UNKNOWN` for an unknown number and for OK. */
export function grpcCode(status: number): GrpcCode {
  return CODES[status - 1] ?? 'UNKNOWN';
}

/** Returns the number of a gRPC status code. */
export function grpcStatus(code: GrpcCode): number {
  return CODES.indexOf(code) + 1;
}

/** Returns Go's name of a code: `DeadlineExceeded` for `DEADLINE_EXCEEDED`, and `Canceled` with one L. */
export function goCodeName(code: GrpcCode): string {
  if (code === 'CANCELLED') return 'Canceled';
  return code.toLowerCase().replace(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

/** The constructor options of {@link GrpcError}. */
export interface GrpcErrorOptions {
  readonly code: GrpcCode;
  /** The message that the peer sent, unchanged. */
  readonly details: string;
  readonly cause?: unknown;
}

const BRAND = '@node-agent/grpc.GrpcError';

/**
 * The failure of a call, or the status with which a handler fails. The message has the format of a Go client: `rpc
 * error: code = NotFound desc = ...`.
 */
export class GrpcError extends Error {
  static {
    brand(GrpcError, BRAND);
  }

  override readonly name = 'GrpcError';
  readonly code: GrpcCode;
  readonly details: string;

  constructor({ code, details, cause }: GrpcErrorOptions) {
    super(`rpc error: code = ${goCodeName(code)} desc = ${details}`, cause === undefined ? undefined : { cause });
    this.code = code;
    this.details = details;
  }

  /** Returns whether a value is a `GrpcError`, of this or of another copy of the package. */
  static is(value: unknown): value is GrpcError {
    return hasBrand(value, BRAND);
  }

  /**
   * Converts any thrown value to a `GrpcError`. A gRPC status keeps its code and details, an `AbortError` becomes
   * `CANCELLED`, and any other value becomes `UNKNOWN`.
   */
  static from(error: unknown): GrpcError {
    if (GrpcError.is(error)) return error;
    if (!(error instanceof Error)) return new GrpcError({ code: 'UNKNOWN', details: String(error), cause: error });
    if ('code' in error && typeof error.code === 'number' && 'details' in error && typeof error.details === 'string') {
      const details = withoutNotes(error.details);
      return new GrpcError({ code: grpcCode(error.code), details, cause: error });
    }
    // grpc-js reports undefined code and details for decompression errors other than zlib's.
    if ('code' in error && 'details' in error && error.code === undefined && error.details === undefined) {
      const details = 'the compression of the message is unknown or missing';
      return new GrpcError({ code: 'INTERNAL', details, cause: error });
    }
    const code = error.name === 'AbortError' ? 'CANCELLED' : 'UNKNOWN';
    return new GrpcError({ code, details: error.message, cause: error });
  }
}

/**
 * Removes two additions of grpc-js from an error's details: an empty resolution note, and the time of day in connection
 * errors. The time would make repeated errors look different.
 */
function withoutNotes(details: string): string {
  return details
    .replace(/\.? Resolution note: $/, '')
    .replace(/^(No connection established\. Last error: .*) \(\d{4}-\d\d-\d\dT[\d:.]+Z\)$/, '$1');
}
