/** An error with a code, as the system's have it. */
export function systemErrorOf(code: string, message: string): Error {
  return Object.assign(new Error(message), { code });
}

/** The code of an error of the system or of Node; `undefined` for anything else. */
export function errorCodeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}

/** A signal's reason as an error, for what can be destroyed with errors only. */
export function toError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error(String(reason));
}
