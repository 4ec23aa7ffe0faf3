/** Health of a device as a pod's status shows it. */
export type DeviceHealthState = 'Healthy' | 'Unhealthy' | 'Unknown';

/** Health of a device as its driver reported it. */
export interface ReportedHealth {
  readonly pool: string;
  readonly device: string;
  readonly health: DeviceHealthState;
  /** Maximum age of the report in milliseconds. When the report is older, the health is unknown. */
  readonly timeoutMs: number;
  readonly message: string;
}

/** Health of a device, with the monotonic time at which the driver last reported it. */
export interface KnownHealth extends ReportedHealth {
  readonly reportedAtMs: number;
}

/**
 * Maximum number of devices of one driver whose health is stored (W6). A ResourceSlice has at most 128 devices. The
 * health of further devices is unknown.
 */
export const MAX_DEVICES = 8192;

/** Devices of a driver by {@link deviceKey}, the last reported first. */
export type DriverHealth = ReadonlyMap<string, KnownHealth>;

/** A device of a driver. */
export interface HealthKey {
  readonly pool: string;
  readonly device: string;
}

export function deviceKey({ pool, device }: HealthKey): string {
  return `${pool}/${device}`;
}

/**
 * Merges a report into the known health of a driver's devices (`updateHealthInfo` in
 * `pkg/kubelet/cm/dra/healthinfo.go`). A device that is missing in the report keeps its health until its timeout, or until
 * later reports contain {@link MAX_DEVICES} other devices. Then the device is removed from the table, so that its health
 * is unknown.
 * @returns the new table, and the devices whose health has changed
 */
export function mergeHealth(
  known: DriverHealth,
  reported: readonly ReportedHealth[],
  nowMs: number,
): { readonly next: DriverHealth; readonly changed: readonly HealthKey[] } {
  const heard = new Map(reported.map((one) => [deviceKey(one), { ...one, reportedAtMs: nowMs }]));
  const others = [...dropExpired(known, nowMs).next].filter(([key]) => !heard.has(key));
  const next = new Map([...heard, ...others].slice(0, MAX_DEVICES));
  const changed = [...heard].filter(([key, one]) => !isSame(one, known.get(key)));
  const removed = [...known].filter(([key]) => !next.has(key));
  return { next, changed: [...changed, ...removed].map(([, one]) => one) };
}

/** Returns the given reports of a driver's devices as a table without the oldest reports above the limit. */
export function newestHealth(reports: readonly KnownHealth[]): DriverHealth {
  const newest = [...reports].sort((a, b) => b.reportedAtMs - a.reportedAtMs).slice(0, MAX_DEVICES);
  return new Map(newest.map((one) => [deviceKey(one), one]));
}

/** Removes the devices whose last report is too old. @returns the new table, and the removed devices */
export function dropExpired(
  known: DriverHealth,
  nowMs: number,
): { readonly next: DriverHealth; readonly changed: readonly HealthKey[] } {
  const expired = [...known.values()].filter((one) => isExpired(one, nowMs));
  if (expired.length === 0) return { next: known, changed: [] };
  return { next: new Map([...known].filter(([, one]) => !isExpired(one, nowMs))), changed: expired };
}

/** Returns the time at which the next report becomes too old, or `undefined` if there is no report. */
export function nextExpiryMs(known: DriverHealth): number | undefined {
  let next: number | undefined;
  for (const { reportedAtMs, timeoutMs } of known.values()) {
    const expiryMs = reportedAtMs + timeoutMs;
    if (next === undefined || expiryMs < next) next = expiryMs;
  }
  return next;
}

/**
 * Returns the health of a device. The health is unknown if the last report is too old or if there is no report
 * (`getHealthInfo`).
 */
export function healthOf(
  known: DriverHealth | undefined,
  key: HealthKey,
  nowMs: number,
): Pick<ReportedHealth, 'health' | 'message'> {
  const one = known?.get(deviceKey(key));
  return one === undefined || isExpired(one, nowMs) ? { health: 'Unknown', message: '' } : one;
}

function isSame(one: ReportedHealth, other: ReportedHealth | undefined): boolean {
  return one.health === other?.health && one.message === other.message && one.timeoutMs === other.timeoutMs;
}

function isExpired({ reportedAtMs, timeoutMs }: KnownHealth, nowMs: number): boolean {
  return nowMs - reportedAtMs > timeoutMs;
}
