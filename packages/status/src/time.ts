/** A time as the API writes it: RFC 3339 in UTC, in whole seconds; `null` for 0, which stands for "not yet". */
export function apiTime(ms: number): string | null {
  return ms > 0 ? new Date(Math.floor(ms / 1000) * 1000).toISOString().replace('.000Z', 'Z') : null;
}
