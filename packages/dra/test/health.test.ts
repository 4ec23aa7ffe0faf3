import { describe, expect, it } from 'vitest';
import {
  deviceKey,
  dropExpired,
  healthOf,
  mergeHealth,
  nextExpiryMs,
  type ReportedHealth,
} from '../src/health-table.ts';
import { reportedHealth } from '../src/reported-health.ts';

function reportOf(device: string, more: Partial<ReportedHealth> = {}): ReportedHealth {
  return { pool: 'p', device, health: 'Healthy', timeoutMs: 30_000, message: '', ...more };
}

describe('health of devices', () => {
  const { next: known } = mergeHealth(new Map(), [reportOf('a'), reportOf('b', { timeoutMs: 10_000 })], 1000);

  it('the health of a device is unknown before the first report and after the timeout', () => {
    const read = (device: string, nowMs: number): string => healthOf(known, { pool: 'p', device }, nowMs).health;
    expect(healthOf(undefined, { pool: 'p', device: 'a' }, 0)).toEqual({ health: 'Unknown', message: '' });
    expect([read('a', 31_000), read('a', 31_001)]).toEqual(['Healthy', 'Unknown']);
    expect([read('b', 11_000), read('b', 11_001), read('c', 1000)]).toEqual(['Healthy', 'Unknown', 'Unknown']);
  });

  it.each<readonly [string, readonly ReportedHealth[], number, readonly string[]]>([
    ['an equal report', [reportOf('a')], 2000, []],
    ['a new state', [reportOf('a', { health: 'Unhealthy' })], 2000, ['p/a']],
    ['a new message', [reportOf('a', { message: 'hot' })], 2000, ['p/a']],
    ['a new timeout', [reportOf('a', { timeoutMs: 5 })], 2000, ['p/a']],
    ['a new device', [reportOf('c')], 2000, ['p/c']],
    ['a device that is no longer reported, before its timeout', [reportOf('a')], 10_000, []],
    ['a device that is no longer reported, after its timeout', [reportOf('a')], 12_000, ['p/b']],
    ['a device that is reported again after its timeout', [reportOf('b', { timeoutMs: 10_000 })], 12_000, []],
  ])('mergeHealth of %s returns the changed devices $3', (_, reported, nowMs, expected) => {
    expect(mergeHealth(known, reported, nowMs).changed.map(deviceKey)).toEqual(expected);
  });

  it('K4: dropExpired removes devices that are no longer reported', () => {
    expect(dropExpired(known, 11_000)).toEqual({ next: known, changed: [] });
    expect([...dropExpired(known, 11_001).next.keys()]).toEqual(['p/a']);
    expect([...dropExpired(known, 40_000).next.keys()]).toEqual([]);
  });

  it('W6, K4: mergeHealth keeps the last reported 8192 devices of a driver, and the health of the others changes to unknown', () => {
    const reportsOf = (name: string, count: number) =>
      Array.from({ length: count }, (_, index) => reportOf(`${name}-${index}`, { timeoutMs: 1e9 }));
    const first = mergeHealth(new Map(), reportsOf('first', 8190), 1000).next;
    const second = mergeHealth(first, reportsOf('second', 2), 1000).next;
    const third = mergeHealth(second, reportsOf('third', 2), 1000);
    expect(third.next.size).toBe(8192);
    expect([...third.next.keys()]).toEqual(
      expect.arrayContaining(['p/second-0', 'p/second-1', 'p/third-0', 'p/third-1']),
    );
    expect(third.changed.map(deviceKey)).toEqual(['p/third-0', 'p/third-1', 'p/first-8188', 'p/first-8189']);
    const last = mergeHealth(third.next, reportsOf('last', 8192), 2000);
    expect([...last.next.values()].every(({ reportedAtMs }) => reportedAtMs === 2000)).toBe(true);
    expect([last.next.size, last.changed.length]).toEqual([8192, 2 * 8192]);
  });

  it('nextExpiryMs returns the earliest timeout', () => {
    expect(nextExpiryMs(known)).toBe(11_000);
    expect(nextExpiryMs(new Map())).toBeUndefined();
  });
});

describe('reportedHealth', () => {
  const sent = { device: { poolName: 'p', deviceName: 'd' }, health: 1, healthCheckTimeoutSeconds: 0, message: '' };

  it.each([
    [1, 'Healthy'],
    [2, 'Unhealthy'],
    [0, 'Unknown'],
    [9, 'Unknown'],
  ])("reportedHealth converts the driver's state %d to %s", (health, expected) => {
    expect(reportedHealth([{ ...sent, health }])).toEqual([reportOf('d', { health: expected as 'Healthy' })]);
  });

  it.each([
    [0, 30_000],
    [-5, 30_000],
    [7, 7000],
    [9e15, 1_728_000_000],
  ])('reportedHealth converts a timeout of %d s to %d ms', (seconds, expected) => {
    expect(reportedHealth([{ ...sent, healthCheckTimeoutSeconds: seconds }])[0]?.timeoutMs).toBe(expected);
  });

  it.each([
    ['fits exactly', 'é'.repeat(512), 'é'.repeat(512)],
    ['is one character too long', 'é'.repeat(513), `${'é'.repeat(510)}...`],
    ['ends in the middle of a character of four bytes', `${'x'.repeat(1020)}😀😀`, `${'x'.repeat(1020)}...`],
  ])('reportedHealth limits a message to 1024 bytes, as the API server does: it %s', (_, message, expected) => {
    expect(reportedHealth([{ ...sent, message }])[0]?.message).toBe(expected);
  });

  it('W6: reportedHealth limits messages, names and the number of devices', () => {
    const [long] = reportedHealth([{ ...sent, message: 'x'.repeat(1025) }]);
    expect(long?.message).toBe(`${'x'.repeat(1021)}...`);
    const device = { poolName: 'p', deviceName: 'd'.repeat(254) };
    expect(reportedHealth([{ ...sent, device }, sent])).toHaveLength(1);
    expect(reportedHealth(Array.from({ length: 9000 }, () => sent))).toHaveLength(8192);
  });
});
