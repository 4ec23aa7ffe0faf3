import { describe, expect, it } from 'vitest';
import { decodeHealth, encodeHealth } from '../src/health-format.ts';

const NOW = { wallMs: Date.UTC(2026, 0, 2, 3, 4, 15, 678), monotonicMs: 50_000 };
/** Health file that Go wrote with the structures of `pkg/kubelet/cm/dra/state`, 10 s before {@link NOW}. */
const FROM_GO =
  '{"gpu.example.com":{"Devices":{"pool/dev-1":{"PoolName":"pool","DeviceName":"dev-1","Health":"Healthy","LastUpdated":"2026-01-02T03:04:05.678Z","HealthCheckTimeout":30000000000,"Message":"ok \\u003c1\\u003e"}}}}';

describe('health file', () => {
  it('a health file that Go wrote is decoded, and encoded to the same bytes', () => {
    const drivers = decodeHealth(FROM_GO, NOW);
    const device = { pool: 'pool', device: 'dev-1', health: 'Healthy', timeoutMs: 30_000, message: 'ok <1>' };
    const known = new Map([['pool/dev-1', { ...device, reportedAtMs: 40_000 }]]);
    expect(drivers).toEqual(new Map([['gpu.example.com', known]]));
    expect(encodeHealth(drivers, NOW)).toBe(FROM_GO);
    expect(encodeHealth(new Map(), NOW)).toBe('{}');
  });

  it('a health report whose time is in the future counts as new', () => {
    const drivers = decodeHealth(FROM_GO, { wallMs: 0, monotonicMs: 7 });
    expect(drivers.get('gpu.example.com')?.get('pool/dev-1')?.reportedAtMs).toBe(7);
  });

  it('W6: of a driver with more than 8192 devices in the health file, the last reported ones are kept', () => {
    const entryOf = (index: number) => {
      const LastUpdated = new Date(NOW.wallMs - index).toISOString();
      return [`p/${index}`, { PoolName: 'p', DeviceName: `${index}`, Health: 'Healthy', LastUpdated }] as const;
    };
    const Devices = Object.fromEntries(Array.from({ length: 8195 }, (_, index) => entryOf(8194 - index)));
    const devices = decodeHealth(JSON.stringify({ d: { Devices } }), NOW).get('d');
    expect(devices?.size).toBe(8192);
    expect(['p/0', 'p/8191', 'p/8192', 'p/8194'].map((key) => devices?.has(key))).toEqual([true, true, false, false]);
  });

  it.each([
    ['[]', 'it must be an object'],
    ['{"d":{"Devices":[]}}', 'd.Devices must be an object'],
    ['{"d":{"Devices":{"k":{}}}}', 'd.Devices[k].LastUpdated must be a string'],
    ['{"d":{"Devices":{"k":{"LastUpdated":"x"}}}}', 'd.Devices[k].LastUpdated must be a time'],
    ['{"d":{"Devices":{"k":{"LastUpdated":"2026-01-02T03:04:05Z"}}}}', 'd.Devices[k].PoolName must be a string'],
  ])('W3: the health file %s is rejected with the error: %s', (text, message) => {
    expect(() => decodeHealth(text, NOW)).toThrow(message);
  });
});
