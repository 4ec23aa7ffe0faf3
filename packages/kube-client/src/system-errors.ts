/** An error with a code, as the system's have it. */
export function systemErrorOf(code: string, message: string): Error {
  return Object.assign(new Error(message), { code });
}

/** A signal's reason as an error, for what can be destroyed with errors only. */
export function toError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error(String(reason));
}
