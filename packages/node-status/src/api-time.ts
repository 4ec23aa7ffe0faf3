/** A time as the API writes it (`metav1.Time`): RFC 3339 in UTC, in whole seconds. */
export function apiTime(ms: number): string {
  return new Date(Math.floor(ms / 1000) * 1000).toISOString().replace('.000Z', 'Z');
}

/** A time with microseconds, as leases have it (`metav1.MicroTime`). */
export function apiMicroTime(ms: number): string {
  const micros = Math.floor((ms - Math.floor(ms)) * 1000);
  return new Date(Math.floor(ms)).toISOString().replace('Z', `${String(micros).padStart(3, '0')}Z`);
}
