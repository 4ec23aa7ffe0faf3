import { FakeClock } from '@node-agent/async/testing';
import { beforeEach, describe, expect, test } from 'vitest';
import { DbusSystemd } from '../../src/index.ts';
import type { UnitProperty } from '../../src/systemd/systemd.ts';
import { FakeManager } from './fake-manager.ts';

const UNIT = 'kubepods-pod1.slice';
const PROPERTIES: readonly UnitProperty[] = [
  ['Description', 's', 'x'],
  ['MemoryMax', 't', 4096n],
  ['AllowedCPUs', 'ay', Uint8Array.of(3)],
];

describe('systemd over D-Bus', () => {
  let clock: FakeClock;
  let manager: FakeManager;
  let systemd: DbusSystemd;
  const endpoints = [
    { path: '/missing', isBus: true },
    { path: '/bus', isBus: true },
  ];
  /** Advances the time while a promise is pending. */
  const during = async <T>(work: Promise<T>, ms = 60_000): Promise<T | unknown> => {
    const settled = work.catch((err: unknown) => err);
    for (let passed = 0; passed < ms; passed += 1000) {
      await new Promise((resolve) => setImmediate(resolve));
      await clock.advance(1000);
    }
    return await settled;
  };

  beforeEach(() => {
    clock = new FakeClock();
    manager = new FakeManager();
    systemd = new DbusSystemd(
      { connect: (path) => manager.connect(path), clock },
      { userId: 0, endpoints, timeoutMs: 20_000 },
    );
  });

  test('starts a systemd unit with its properties, changes it, and stops it', async () => {
    await systemd.startTransientUnit(UNIT, PROPERTIES);
    expect(manager.units.get(UNIT)).toEqual({
      state: 'active',
      properties: new Map<string, unknown>([
        ['Description', 'x'],
        ['MemoryMax', 4096n],
        ['AllowedCPUs', Uint8Array.of(3)],
      ]),
    });
    await systemd.setUnitProperties(UNIT, [['TasksMax', 't', 7n]]);
    expect(manager.units.get(UNIT)?.properties.get('TasksMax')).toBe(7n);
    expect(await systemd.version()).toBe(257);
    await systemd.stopUnit(UNIT);
    expect(manager.units.size).toBe(0);
    expect(manager.connections).toHaveLength(1);
  });

  test('starting a running unit leaves it unchanged; stopping a missing unit succeeds', async () => {
    manager.units.set(UNIT, { state: 'active', properties: new Map() });
    await systemd.startTransientUnit(UNIT, PROPERTIES);
    expect(manager.units.get(UNIT)?.properties.size).toBe(0);
    await systemd.stopUnit('other.slice');
  });

  test.each(['inactive', 'failed'])('a unit that exists and %s is started', async (state) => {
    manager.units.set(UNIT, { state, properties: new Map() });
    await during(systemd.startTransientUnit(UNIT, PROPERTIES), 3000);
    if (state === 'failed') await systemd.startTransientUnit(UNIT, PROPERTIES);
    expect(manager.units.get(UNIT)?.state).toBe('active');
  });

  test('a failed systemd job is an error with its result, and the failed unit is reset', async () => {
    manager.jobResult = 'failed';
    await expect(systemd.startTransientUnit(UNIT, PROPERTIES)).rejects.toMatchObject({
      code: 'Remote',
      message: expect.stringContaining('got `failed`'),
    });
    expect(manager.units.size).toBe(0);
  });

  test('if systemd restarts between two calls, then a new connection is used', async () => {
    await systemd.version();
    manager.restart();
    await systemd.startTransientUnit(UNIT, PROPERTIES);
    expect(manager.connections).toHaveLength(2);
  });

  test('if systemd restarts during a job, then the job is requested again and found done', async () => {
    manager.tells = false;
    const starting = systemd.startTransientUnit(UNIT, PROPERTIES);
    for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
    manager.restart();
    expect(await during(starting, 3000)).toBeUndefined();
    expect(manager.units.get(UNIT)?.state).toBe('active');
  });

  test("the job's state is queried if no job signal arrives", async () => {
    manager.tells = false;
    expect(await during(systemd.startTransientUnit(UNIT, PROPERTIES), 5000)).toBeUndefined();
    manager.jobResult = 'failed';
    expect(await during(systemd.startTransientUnit('other.slice', PROPERTIES), 5000)).toMatchObject({ code: 'Remote' });
  });

  test('a job signal from another sender is ignored', async () => {
    manager.jobResult = undefined;
    const starting = systemd.startTransientUnit(UNIT, PROPERTIES);
    for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
    const [peer] = manager.connections;
    const path = '/org/freedesktop/systemd1';
    peer?.signal(
      path,
      'org.freedesktop.systemd1.Manager',
      'JobRemoved',
      'uoss',
      [1, `${path}/job/1`, UNIT, 'done'],
      ':1.666',
    );
    expect(await during(starting, 25_000)).toMatchObject({ code: 'Timeout', message: expect.stringContaining(UNIT) });
  });

  test('a hanging systemd fails each call at its deadline, and no later call waits', async () => {
    await systemd.version();
    manager.answers = false;
    expect(await during(systemd.setUnitProperties(UNIT, PROPERTIES), 25_000)).toMatchObject({ code: 'Timeout' });
    manager.answers = true;
    await systemd.startTransientUnit(UNIT, PROPERTIES);
  });

  test('if no systemd socket accepts a connection, then the error names all tried sockets', async () => {
    const nowhere = new DbusSystemd(
      { connect: (path) => manager.connect(path), clock },
      { userId: 0, endpoints: [endpoints[0] ?? { path: '', isBus: true }] },
    );
    await expect(nowhere.version()).rejects.toMatchObject({
      code: 'Closed',
      message: expect.stringContaining('/missing'),
    });
  });

  test('concurrent calls share one connection', async () => {
    await Promise.all(['a', 'b', 'c'].map((name) => systemd.startTransientUnit(`${name}.slice`, PROPERTIES)));
    expect(manager.connections).toHaveLength(1);
    expect([...manager.units.values()].map(({ state }) => state)).toEqual(['active', 'active', 'active']);
  });
});
