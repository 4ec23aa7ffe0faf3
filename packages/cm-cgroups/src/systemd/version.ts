/**
 * Parses systemd's version number: 245 from `v245.4-1.fc32`. Returns 0, older than any version, if there is no number.
 */
export function parseSystemdVersion(text: string): number {
  return Number(/^"?v?(\d+)/.exec(text)?.[1] ?? 0);
}
