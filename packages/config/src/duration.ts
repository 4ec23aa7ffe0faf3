const NANOSECONDS: Readonly<Record<string, bigint>> = {
  ns: 1n,
  us: 1_000n,
  µs: 1_000n,
  μs: 1_000n,
  ms: 1_000_000n,
  s: 1_000_000_000n,
  m: 60_000_000_000n,
  h: 3_600_000_000_000n,
};
const LIMIT = 1n << 63n;
const PART = /(\d*)(?:\.(\d*))?(ns|us|\u00b5s|\u03bcs|ms|s|m|h)/y;

/**
 * Parses a Go duration (`1h30m`, `300ms`, `-1.5s`, `0`) and returns its exact nanoseconds; `undefined` if the text is
 * not a duration or exceeds 64 bits. Fractions of a nanosecond are cut off (Go's `time.ParseDuration`).
 */
export function parseDuration(text: string): bigint | undefined {
  const negative = text.startsWith('-');
  const body = negative || text.startsWith('+') ? text.slice(1) : text;
  if (body === '0') return 0n;
  if (body === '') return undefined;
  let total = 0n;
  let position = 0;
  while (position < body.length) {
    PART.lastIndex = position;
    const match = PART.exec(body);
    if (match === null) return undefined;
    const [part, whole = '', fraction = '', unit = ''] = match;
    if (whole === '' && fraction === '') return undefined;
    const scale = NANOSECONDS[unit] ?? 0n;
    total += BigInt(whole) * scale + (BigInt(fraction) * scale) / 10n ** BigInt(fraction.length);
    position += part.length;
  }
  if (total > LIMIT || (total === LIMIT && !negative)) return undefined;
  return negative ? -total : total;
}

/** Formats nanoseconds as Go does: `1h30m0s`, `1.5s`, `300ms`, `10µs`, `0s`. */
export function formatDuration(nanoseconds: bigint): string {
  if (nanoseconds < 0n) return `-${formatDuration(-nanoseconds)}`;
  if (nanoseconds === 0n) return '0s';
  if (nanoseconds < 1_000n) return `${nanoseconds}ns`;
  if (nanoseconds < 1_000_000n) return `${decimal(nanoseconds, 1_000n)}µs`;
  if (nanoseconds < 1_000_000_000n) return `${decimal(nanoseconds, 1_000_000n)}ms`;
  const hours = nanoseconds / 3_600_000_000_000n;
  const minutes = (nanoseconds / 60_000_000_000n) % 60n;
  const seconds = decimal(nanoseconds % 60_000_000_000n, 1_000_000_000n);
  if (hours > 0n) return `${hours}h${minutes}m${seconds}s`;
  return minutes > 0n ? `${minutes}m${seconds}s` : `${seconds}s`;
}

function decimal(value: bigint, unit: bigint): string {
  const rest = value % unit;
  if (rest === 0n) return `${value / unit}`;
  const digits = `${rest}`.padStart(`${unit}`.length - 1, '0').replace(/0+$/, '');
  return `${value / unit}.${digits}`;
}

/** Converts nanoseconds to milliseconds; exact to the nanosecond for durations of up to 40 days. */
export function nanosecondsToMs(nanoseconds: bigint): number {
  return Number(nanoseconds / 1_000_000n) + Number(nanoseconds % 1_000_000n) / 1e6;
}

/** Converts milliseconds with a fraction to whole nanoseconds. */
export function msToNanoseconds(milliseconds: number): bigint {
  const whole = Math.trunc(milliseconds);
  return BigInt(whole) * 1_000_000n + BigInt(Math.round((milliseconds - whole) * 1e6));
}

/** Formats milliseconds as a Go duration, for messages. */
export function formatMs(milliseconds: number): string {
  return formatDuration(msToNanoseconds(milliseconds));
}
