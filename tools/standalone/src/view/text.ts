/** Formats a duration like the ages in `kubectl`: `7s`, `3m12s`, `47m`, `5h30m`, `12d`. */
export function formatAge(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  if (seconds < 120) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 10) return seconds % 60 === 0 ? `${minutes}m` : `${minutes}m${seconds % 60}s`;
  if (minutes < 180) return `${minutes}m`;
  const hours = Math.floor(minutes / 60);
  if (hours < 8) return minutes % 60 === 0 ? `${hours}h` : `${hours}h${minutes % 60}m`;
  return hours < 48 ? `${hours}h` : `${Math.floor(hours / 24)}d`;
}

/** Cuts a text to a number of columns. An ellipsis in the last column shows that the text was cut. */
export function cut(text: string, columns: number): string {
  // Control characters are replaced: text from a pod or a runtime must not move the cursor.
  const plain = text.replace(/[\p{Cc}\p{Cf}]+/gu, ' ');
  if (plain.length <= columns) return plain;
  return columns < 1 ? '' : `${plain.slice(0, columns - 1)}…`;
}
