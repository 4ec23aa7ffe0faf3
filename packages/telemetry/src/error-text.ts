/**
 * What a thrown value says, for an event, a condition or the message of another error: of a runtime's error the whole
 * status, `rpc error: code = NotFound desc = ...`, as upstream's have it. Errors in log fields are given whole.
 */
export function errorText(thrown: unknown): string {
  if (!(thrown instanceof Error)) return String(thrown);
  return 'statusMessage' in thrown && typeof thrown.statusMessage === 'string' ? thrown.statusMessage : thrown.message;
}
