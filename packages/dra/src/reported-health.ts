import { MAX_DEVICES, type ReportedHealth } from './health-table.ts';

/** A device in a message of a driver's health stream. */
export interface SentHealth {
  readonly device: { readonly poolName: string; readonly deviceName: string } | null;
  /** Reported health: 1 is healthy, 2 is unhealthy, and any other number is unknown. */
  readonly health: number;
  readonly healthCheckTimeoutSeconds: number;
  readonly message: string;
}

/**
 * Timeout of a report without a valid timeout, as in upstream (`DefaultHealthTimeout` of
 * `pkg/kubelet/cm/dra/healthinfo.go`).
 */
const DEFAULT_TIMEOUT_MS = 30_000;
/** Maximum timeout of a report, in milliseconds: 20 days. A timer cannot wait much longer. */
const MAX_TIMEOUT_MS = 20 * 24 * 3_600_000;
/**
 * Maximum length of a health message in bytes of UTF-8, as in the API (`ResourceHealthMessageMaxLength` of core/v1). The
 * API server rejects the whole status of a pod with a longer message.
 */
const MAX_MESSAGE = 1024;
/** Maximum length of the name of a pool or device. The API allows 253 and 63 characters. */
const MAX_NAME = 253;

/** Converts a message of a driver's health stream (`buildDeviceHealth` in `pkg/kubelet/cm/dra/manager.go`). */
export function reportedHealth(devices: readonly SentHealth[]): readonly ReportedHealth[] {
  return devices.slice(0, MAX_DEVICES).flatMap(({ device, health, healthCheckTimeoutSeconds, message }) => {
    const { poolName: pool = '', deviceName = '' } = device ?? {};
    // A device whose name is too long for the API cannot be allocated, so its health is ignored.
    if (pool.length > MAX_NAME || deviceName.length > MAX_NAME) return [];
    return {
      ...{ pool, device: deviceName },
      health: health === 1 ? ('Healthy' as const) : health === 2 ? ('Unhealthy' as const) : ('Unknown' as const),
      timeoutMs: timeoutMs(healthCheckTimeoutSeconds),
      message: shortened(message),
    };
  });
}

function timeoutMs(seconds: number): number {
  return seconds > 0 ? Math.min(seconds * 1000, MAX_TIMEOUT_MS) : DEFAULT_TIMEOUT_MS;
}

/** Returns a message of at most {@link MAX_MESSAGE} bytes (`truncateHealthMessage`). No character is cut in two. */
function shortened(message: string): string {
  if (Buffer.byteLength(message) <= MAX_MESSAGE) return message;
  const { read } = new TextEncoder().encodeInto(message, new Uint8Array(MAX_MESSAGE - 3));
  return `${message.slice(0, read)}...`;
}
