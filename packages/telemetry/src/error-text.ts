/** What a thrown value says, for an event, a condition or the message of another error. Errors in log fields are given whole. */
export function errorText(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}
