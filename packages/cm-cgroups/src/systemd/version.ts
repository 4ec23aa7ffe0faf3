/** The number in what systemd says of its version: 245 of `v245.4-1.fc32`; 0, older than anything, where there is none. */
export function parseSystemdVersion(text: string): number {
  return Number(/^"?v?(\d+)/.exec(text)?.[1] ?? 0);
}
