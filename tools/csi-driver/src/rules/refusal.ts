import type { GrpcCode } from '@node-agent/grpc';

/** Result of a rule that rejects a request: the gRPC code that the CSI specification names, and the details. */
export interface Refusal {
  readonly code: GrpcCode;
  readonly details: string;
}

export function refusal(code: GrpcCode, details: string): Refusal {
  return { code, details };
}

/** Returns whether a rule rejected the request. */
export function isRefusal(value: unknown): value is Refusal {
  return typeof value === 'object' && value !== null && 'code' in value && 'details' in value;
}
