/**
 * Formats a duration as Go does: `10s`, `1m20s`, `5m0s`, `500ms`. From one second on, fractions below a millisecond are
 * dropped.
 */
export function goDuration(ms: number): string {
  if (ms > 0 && ms < 1000) return `${ms}ms`;
  const seconds = Math.floor(ms / 1000) % 60;
  const minutes = Math.floor(ms / 60_000) % 60;
  const hours = Math.floor(ms / 3_600_000);
  const fraction = `.${String(Math.floor(ms % 1000)).padStart(3, '0')}`.replace(/\.?0+$/, '');
  if (hours > 0) return `${hours}h${minutes}m${seconds}${fraction}s`;
  return minutes > 0 ? `${minutes}m${seconds}${fraction}s` : `${seconds}${fraction}s`;
}
