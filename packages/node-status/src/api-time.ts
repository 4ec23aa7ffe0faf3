/** Formats a time as `metav1.Time`: RFC 3339 in UTC, in whole seconds. */
export function apiTime(ms: number): string {
  return new Date(Math.floor(ms / 1000) * 1000).toISOString().replace('.000Z', 'Z');
}

/** Formats a time as `metav1.MicroTime`, with microseconds, as in leases. */
export function apiMicroTime(ms: number): string {
  const micros = Math.floor((ms - Math.floor(ms)) * 1000);
  return new Date(Math.floor(ms)).toISOString().replace('Z', `${String(micros).padStart(3, '0')}Z`);
}
