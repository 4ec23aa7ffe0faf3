const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/**
 * Formats a duration like kubectl's column AGE (`k8s.io/apimachinery/pkg/util/duration: HumanDuration`), in at most two
 * units: `45s`, `3m20s`, `5h10m`, `2d3h`, `90d`.
 */
export function shortDuration(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  if (seconds < 2 * MINUTE) return `${seconds}s`;
  if (seconds < 10 * MINUTE) return pair(seconds, MINUTE, 'm', 1, 's');
  if (seconds < 3 * HOUR) return `${Math.floor(seconds / MINUTE)}m`;
  if (seconds < 8 * HOUR) return pair(seconds, HOUR, 'h', MINUTE, 'm');
  if (seconds < 2 * DAY) return `${Math.floor(seconds / HOUR)}h`;
  if (seconds < 8 * DAY) return pair(seconds, DAY, 'd', HOUR, 'h');
  return `${Math.floor(seconds / DAY)}d`;
}

function pair(seconds: number, big: number, bigName: string, small: number, smallName: string): string {
  const rest = Math.floor((seconds % big) / small);
  return `${Math.floor(seconds / big)}${bigName}${rest === 0 ? '' : `${rest}${smallName}`}`;
}

/** Formats the time since an RFC 3339 timestamp; `<unknown>` if it is absent or invalid. */
export function ageOf(timestamp: string | undefined, nowMs: number): string {
  const at = Date.parse(timestamp ?? '');
  return Number.isNaN(at) ? '<unknown>' : shortDuration(nowMs - at);
}

/** Formats bytes in Ki, Mi or Gi with at most one digit behind the point. */
export function bytes(value: number | undefined): string {
  if (value === undefined || !Number.isFinite(value)) return '';
  const units = ['', 'Ki', 'Mi', 'Gi', 'Ti'];
  let amount = value;
  let unit = 0;
  while (amount >= 1024 && unit < units.length - 1) {
    amount /= 1024;
    unit++;
  }
  const text = amount >= 100 || unit === 0 ? String(Math.round(amount)) : String(Math.round(amount * 10) / 10);
  return `${text}${units[unit]}`;
}

/** Formats CPU usage in millicores: `250m`. */
export function millicores(nanocores: number | undefined): string {
  return nanocores === undefined ? '' : `${Math.round(nanocores / 1e6)}m`;
}

/**
 * Parses a duration as Go writes it (`1h30m`, `90s`, `500ms`) into milliseconds. Returns `undefined` if the text is not
 * a duration.
 */
export function parseDurationMs(text: string): number | undefined {
  const factors: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };
  if (!/^(?:\d+(?:\.\d+)?(?:ms|s|m|h))+$/.test(text)) return undefined;
  let total = 0;
  for (const [, amount, unit = ''] of text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h)/g)) {
    total += Number(amount) * (factors[unit] ?? 0);
  }
  return total;
}
