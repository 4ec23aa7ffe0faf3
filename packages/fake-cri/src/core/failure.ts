import { CriError, type CriErrorCode } from '@node-agent/cri-client';

/** The error that a handler answers with; the RPC's name is added on its way out. */
export function failure(code: CriErrorCode, details: string): CriError {
  return new CriError({ rpc: '', code, details });
}

/** `error` as the caller of `rpc` gets it. */
export function asCallError(error: unknown, rpc: string): CriError {
  const normal = CriError.from(error, rpc);
  if (normal.rpc === rpc) return normal;
  return new CriError({ rpc, code: normal.code, details: normal.details, cause: normal.cause });
}
