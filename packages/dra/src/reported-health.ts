import type { ReportedHealth } from './health-table.ts';

/** A device in a message of a driver's health stream. */
export interface SentHealth {
  readonly device: { readonly poolName: string; readonly deviceName: string } | null;
  /** 1 is healthy, 2 unhealthy; any other number is unknown. */
  readonly health: number;
  readonly healthCheckTimeoutSeconds: number;
  readonly message: string;
}

/** `DefaultHealthTimeout` of `pkg/kubelet/cm/dra/healthinfo.go`. */
const DEFAULT_TIMEOUT_MS = 30_000;
/** Longer timeouts would exceed what a timer can wait; 20 days. */
const MAX_TIMEOUT_MS = 20 * 24 * 3_600_000;
/** `ResourceHealthMessageMaxLength` of core/v1. */
const MAX_MESSAGE = 1024;
/** Maximum number of devices of one driver; a ResourceSlice has at most 128. Further devices count as unknown (W6). */
const MAX_DEVICES = 8192;
/** Maximum length of a pool's or device's name: the API allows 253 and 63. */
const MAX_NAME = 253;

/** Converts a message of a health stream (`buildDeviceHealth` in `pkg/kubelet/cm/dra/manager.go`). */
export function reportedHealth(devices: readonly SentHealth[]): readonly ReportedHealth[] {
  return devices.slice(0, MAX_DEVICES).flatMap(({ device, health, healthCheckTimeoutSeconds, message }) => {
    const { poolName: pool = '', deviceName = '' } = device ?? {};
    // A device with such a long name cannot be allocated.
    if (pool.length > MAX_NAME || deviceName.length > MAX_NAME) return [];
    return {
      ...{ pool, device: deviceName },
      health: health === 1 ? ('Healthy' as const) : health === 2 ? ('Unhealthy' as const) : ('Unknown' as const),
      timeoutMs: timeoutMs(healthCheckTimeoutSeconds),
      message: message.length <= MAX_MESSAGE ? message : `${message.slice(0, MAX_MESSAGE - 3)}...`,
    };
  });
}

function timeoutMs(seconds: number): number {
  return seconds > 0 ? Math.min(seconds * 1000, MAX_TIMEOUT_MS) : DEFAULT_TIMEOUT_MS;
}
