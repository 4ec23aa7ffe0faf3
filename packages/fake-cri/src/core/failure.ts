import { CriError, type CriErrorCode } from '@node-agent/cri-client';

/** Returns an error for a handler to throw. {@link asCallError} adds the RPC's name later. */
export function failure(code: CriErrorCode, details: string): CriError {
  return new CriError({ rpc: '', code, details });
}

/** Returns `error` as a CriError that names `rpc`. */
export function asCallError(error: unknown, rpc: string): CriError {
  const normal = CriError.from(error, rpc);
  if (normal.rpc === rpc) return normal;
  return new CriError({ rpc, code: normal.code, details: normal.details, cause: normal.cause });
}
