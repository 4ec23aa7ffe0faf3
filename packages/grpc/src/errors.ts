import { brand, hasBrand } from '@node-agent/async';

/** Why a call failed: the gRPC code's name. `CANCELLED` is also what an aborted signal gives. */
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

/** The codes of gRPC (`google.golang.org/grpc/codes`) in the order of their numbers, from 1: 0 is OK. */
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

/** The name of a gRPC status code; `UNKNOWN` for a number that has none, and for OK. */
export function grpcCode(status: number): GrpcCode {
  return CODES[status - 1] ?? 'UNKNOWN';
}

/** The number of a gRPC status code. */
export function grpcStatus(code: GrpcCode): number {
  return CODES.indexOf(code) + 1;
}

/** The name as Go has it: `DEADLINE_EXCEEDED` is `DeadlineExceeded` there, and `CANCELLED` has one L. */
export function goCodeName(code: GrpcCode): string {
  if (code === 'CANCELLED') return 'Canceled';
  return code.toLowerCase().replace(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

/** What a {@link GrpcError} is made of. */
export interface GrpcErrorOptions {
  readonly code: GrpcCode;
  /** What the peer said, word for word. */
  readonly details: string;
  readonly cause?: unknown;
}

const BRAND = '@node-agent/grpc.GrpcError';

/** A call that failed, or how a handler wants it to fail. Its message is in the words of a Go client: `rpc error: code = NotFound desc = ...`. */
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

  /** Whether a value is a `GrpcError`, of this copy of the package or of another one. */
  static is(value: unknown): value is GrpcError {
    return hasBrand(value, BRAND);
  }

  /** Any thrown value: a gRPC status keeps its code and details, an `AbortError` is `CANCELLED`, anything else is `UNKNOWN`. */
  static from(error: unknown): GrpcError {
    if (GrpcError.is(error)) return error;
    if (!(error instanceof Error)) return new GrpcError({ code: 'UNKNOWN', details: String(error), cause: error });
    if ('code' in error && typeof error.code === 'number' && 'details' in error && typeof error.details === 'string') {
      const details = withoutNotes(error.details);
      return new GrpcError({ code: grpcCode(error.code), details, cause: error });
    }
    // A status of nothing is what grpc-js makes of an error while it decompresses that is none of zlib.
    if ('code' in error && 'details' in error && error.code === undefined && error.details === undefined) {
      const details = 'the message is compressed in a way that is not known, or not said';
      return new GrpcError({ code: 'INTERNAL', details, cause: error });
    }
    const code = error.name === 'AbortError' ? 'CANCELLED' : 'UNKNOWN';
    return new GrpcError({ code, details: error.message, cause: error });
  }
}

/**
 * grpc-js ends some details with the beginning of a note that it then has nothing to say in; and why there is no connection with the
 * time of day, so that whoever compares texts would take each try for something new.
 */
function withoutNotes(details: string): string {
  return details
    .replace(/\.? Resolution note: $/, '')
    .replace(/^(No connection established\. Last error: .*) \(\d{4}-\d\d-\d\dT[\d:.]+Z\)$/, '$1');
}
