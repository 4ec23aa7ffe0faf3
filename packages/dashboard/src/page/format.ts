const UNITS = ['B', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi'];

/** Formats an amount of bytes: `734 B`, `12.4 Mi`. Negative amounts keep their sign. */
export function bytes(amount: number | undefined): string {
  if (amount === undefined) return '–';
  let value = Math.abs(amount);
  let unit = 0;
  while (value >= 1000 && unit < UNITS.length - 1) {
    value /= 1024;
    unit += 1;
  }
  const digits = unit === 0 || value >= 100 ? 0 : 1;
  return `${amount < 0 ? '−' : ''}${value.toFixed(digits)} ${UNITS[unit]}`;
}

/** Formats a number of CPUs: `3m`, `250m`, `1.25`. */
export function cpus(amount: number | undefined): string {
  if (amount === undefined) return '–';
  if (amount >= 1) return amount.toFixed(2);
  const milli = amount * 1000;
  return `${milli > 0 && milli < 1 ? '<1' : Math.round(milli)}m`;
}

/** Formats a percentage without its sign: `0.4`, `37`. */
export function share(amount: number | undefined): string {
  return amount === undefined ? '–' : amount.toFixed(amount > 0 && amount < 10 ? 1 : 0);
}

/** Formats an amount of a unit. */
export function amount(value: number | undefined, unit: 'bytes' | 'count'): string {
  if (unit === 'bytes') return bytes(value);
  return value === undefined ? '–' : value.toLocaleString('en-US');
}

/** Formats a duration: `340 ms`, `12.3 s`, `4m 5s`, `3h 20m`, `5d 2h`. */
export function duration(ms: number): string {
  const positive = Math.max(0, ms);
  if (positive < 1000) return `${Math.round(positive)} ms`;
  if (positive < 60_000) return `${(positive / 1000).toFixed(1)} s`;
  return coarse(positive);
}

/** Formats an age, without fractions: `12s`, `4m 5s`, `3h 20m`. */
export function age(ms: number): string {
  const positive = Math.max(0, ms);
  return positive < 60_000 ? `${Math.floor(positive / 1000)}s` : coarse(positive);
}

function coarse(ms: number): string {
  const seconds = Math.floor(ms / 1000);
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m ${seconds % 60}s`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)}h ${Math.floor((seconds % 3600) / 60)}m`;
  return `${Math.floor(seconds / 86_400)}d ${Math.floor((seconds % 86_400) / 3600)}h`;
}

/** Formats a time of day in the browser's time zone, with milliseconds: `14:03:07.120`. */
export function clockTime(ms: number): string {
  const date = new Date(ms);
  if (Number.isNaN(date.getTime())) return 'unknown';
  const two = (value: number): string => String(value).padStart(2, '0');
  const time = `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
  return `${time}.${String(date.getMilliseconds()).padStart(3, '0')}`;
}

/** Formats a date and time for a tooltip, in UTC. */
export function fullTime(ms: number): string {
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) ? 'unknown' : date.toISOString();
}
