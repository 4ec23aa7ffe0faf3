import { goJson } from '@node-agent/pod-spec';
import {
  type DeviceHealthState,
  type DriverHealth,
  deviceKey,
  type KnownHealth,
  newestHealth,
} from './health-table.ts';

type Fields = Readonly<Record<string, unknown>>;

/** Current times of both clocks, in milliseconds. */
export interface Now {
  readonly wallMs: number;
  readonly monotonicMs: number;
}

/**
 * Encodes the file `dra_health_state` in upstream's format (`DevicesHealthMap` in `pkg/kubelet/cm/dra/state/state.go`).
 * The file contains the devices of each driver, with times as text and durations in nanoseconds.
 */
export function encodeHealth(drivers: ReadonlyMap<string, DriverHealth>, { wallMs, monotonicMs }: Now): string {
  const entries = [...drivers].map(([driver, devices]) => {
    const encoded = [...devices.values()].map(({ pool, device, health, reportedAtMs, timeoutMs, message }) => {
      const fields = {
        ...{ PoolName: pool, DeviceName: device, Health: health },
        LastUpdated: new Date(wallMs - (monotonicMs - reportedAtMs)).toISOString(),
        ...{ HealthCheckTimeout: timeoutMs * 1e6, Message: message },
      };
      return [deviceKey({ pool, device }), fields] as const;
    });
    return [driver, { Devices: Object.fromEntries(encoded.sort(byKey)) }] as const;
  });
  return goJson(Object.fromEntries(entries.sort(byKey)));
}

/**
 * Decodes the file `dra_health_state`. A report whose time is in the future counts as new. @throws Error naming the
 * invalid field
 */
export function decodeHealth(text: string, { wallMs, monotonicMs }: Now): ReadonlyMap<string, DriverHealth> {
  const drivers = Object.entries(fieldsOf(JSON.parse(text), 'it')).map(([driver, state]) => {
    const at = `${driver}.Devices`;
    const devices = Object.entries(fieldsOf(fieldsOf(state, driver).Devices ?? {}, at)).map(([key, value]) => {
      const ageMs = Math.max(0, wallMs - timeOf(value, `${at}[${key}]`));
      return decodeDevice(value, `${at}[${key}]`, monotonicMs - ageMs);
    });
    return [driver, newestHealth(devices)] as const;
  });
  return new Map(drivers);
}

function decodeDevice(value: unknown, at: string, reportedAtMs: number): KnownHealth {
  const { PoolName, DeviceName, Health, HealthCheckTimeout, Message = '' } = fieldsOf(value, at);
  const timeoutMs =
    typeof HealthCheckTimeout === 'number' && HealthCheckTimeout > 0 ? HealthCheckTimeout / 1e6 : 30_000;
  return {
    pool: textOf(PoolName, `${at}.PoolName`),
    device: textOf(DeviceName, `${at}.DeviceName`),
    health: stateOf(Health),
    ...{ timeoutMs, reportedAtMs },
    message: textOf(Message, `${at}.Message`),
  };
}

function timeOf(value: unknown, at: string): number {
  const timeMs = Date.parse(textOf(fieldsOf(value, at).LastUpdated, `${at}.LastUpdated`));
  if (Number.isNaN(timeMs)) throw new Error(`${at}.LastUpdated must be a time`);
  return timeMs;
}

function stateOf(value: unknown): DeviceHealthState {
  return value === 'Healthy' || value === 'Unhealthy' ? value : 'Unknown';
}

function fieldsOf(value: unknown, at: string): Fields {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Fields;
  throw new Error(`${at} must be an object`);
}

function textOf(value: unknown, at: string): string {
  if (typeof value === 'string') return value;
  throw new Error(`${at} must be a string`);
}

function byKey([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : 1;
}
