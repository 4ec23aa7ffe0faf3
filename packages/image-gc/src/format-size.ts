const UNITS = ['KiB', 'MiB', 'GiB', 'TiB'] as const;

/** Formats bytes as upstream's messages do: `512 B`, `1.5 GiB`. */
export function formatSize(bytes: number): string {
  if (bytes < 1024) return `${Math.trunc(bytes)} B`;
  let value = bytes / 1024;
  let unit = 0;
  while (value >= 1024 && unit < UNITS.length - 1) {
    value /= 1024;
    unit += 1;
  }
  const tenths = value * 10;
  // Rounds a half to the even digit, as Go does.
  const rounded = tenths % 1 === 0.5 ? (2 * Math.round(tenths / 2)) / 10 : value;
  return `${rounded.toFixed(1)} ${UNITS[unit]}`;
}
