/** Formats a time as the API does: RFC 3339 in UTC, in whole seconds; `null` for 0, which means "not yet". */
export function apiTime(ms: number): string | null {
  return ms > 0 ? new Date(Math.floor(ms / 1000) * 1000).toISOString().replace('.000Z', 'Z') : null;
}
