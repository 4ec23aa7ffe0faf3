import type { VolumeError } from '../errors.ts';

/**
 * gRPC codes with which a driver reports that the requested size is impossible (`pkg/volume/csi/expander.go:
 * isInfeasibleError`).
 */
const INFEASIBLE: ReadonlySet<string> = new Set(['INVALID_ARGUMENT', 'OUT_OF_RANGE', 'NOT_FOUND']);

/** Returns whether a driver's code reports that the requested size is impossible. */
export function isInfeasibleCode(code: string): boolean {
  return INFEASIBLE.has(code);
}

/** Returns the gRPC code of a failed driver call; '' if no call was made. */
export function codeOf({ cause }: VolumeError): string {
  const isCoded = typeof cause === 'object' && cause !== null && 'code' in cause;
  return isCoded && typeof cause.code === 'string' ? cause.code : '';
}
