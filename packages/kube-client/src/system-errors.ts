/** Creates an error with a code, like a system error. */
export function systemErrorOf(code: string, message: string): Error {
  return Object.assign(new Error(message), { code });
}

/** Converts a signal's reason into an error, for streams that can only be destroyed with an error. */
export function toError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error(String(reason));
}
