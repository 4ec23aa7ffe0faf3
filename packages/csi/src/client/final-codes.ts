import type { GrpcCode } from '@node-agent/grpc';

/**
 * Codes after which the driver may still work on the operation: the caller gave up (`CANCELLED`, `DEADLINE_EXCEEDED`),
 * the driver went away or is overloaded (`UNAVAILABLE`, `RESOURCE_EXHAUSTED`), or another call for the volume is in
 * progress (`ABORTED`).
 */
const NOT_FINAL: ReadonlySet<GrpcCode> = new Set([
  'CANCELLED',
  'DEADLINE_EXCEEDED',
  'UNAVAILABLE',
  'RESOURCE_EXHAUSTED',
  'ABORTED',
]);

/** Returns whether a failed operation certainly has no effect (`pkg/volume/csi/csi_client.go: isFinalError`). */
export function isFinalCode(code: GrpcCode): boolean {
  return !NOT_FINAL.has(code);
}
