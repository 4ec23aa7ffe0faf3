import { FakeClock } from '@node-agent/async/testing';
import { MemorySockets } from '@node-agent/grpc/testing';
import { captureLogger, type LogLine } from '@node-agent/telemetry/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type CsiDriverNodeInfo, CsiDriverRegistry } from '../src/index.ts';
import { FakeCsiDriver, type FakeCsiDriverOptions } from '../src/testing.ts';

const NAME = 'disk.csi.example.com';
const never = new AbortController().signal;

let clock: FakeClock;
let sockets: MemorySockets;
let registry: CsiDriverRegistry;
let reported: Map<string, CsiDriverNodeInfo>;
let updates: string[];
let changes: string[];
let periods: Map<string, number>;
let lines: readonly LogLine[];
/** Called before each report of a driver. A test sets this function to make reports fail or wait. */
let beforeInstall: (name: string) => Promise<void>;

beforeEach(() => {
  clock = new FakeClock();
  sockets = new MemorySockets();
  reported = new Map();
  updates = [];
  changes = [];
  periods = new Map();
  beforeInstall = async () => {};
  const captured = captureLogger();
  lines = captured.lines;
  const nodeInfo = {
    install: async (name: string, info: CsiDriverNodeInfo) => {
      await beforeInstall(name);
      reported.set(name, info);
    },
    update: async (name: string, info: CsiDriverNodeInfo) => {
      updates.push(`${name} ${info.maxVolumes}`);
      reported.set(name, info);
    },
    set: (name: string, info: CsiDriverNodeInfo | undefined) =>
      void (info === undefined ? reported.delete(name) : reported.set(name, info)),
  };
  registry = new CsiDriverRegistry({
    ...{ clock, transport: sockets, nodeInfo, logger: captured.logger },
    allocatableUpdatePeriodSeconds: (name) => periods.get(name),
    onDriverChanged: (name) => void changes.push(name),
  });
});

async function driver(socketPath: string, options: Partial<FakeCsiDriverOptions> = {}): Promise<FakeCsiDriver> {
  const made = new FakeCsiDriver({ name: NAME, transport: sockets, clock, ...options, socketPath });
  await made.start();
  return made;
}

const register = (endpoint: string, version = '1.0.0', name = NAME, signal = never): Promise<void> =>
  registry.register(name, endpoint, [version], signal);
const unstage = (name = NAME): Promise<unknown> | undefined => registry.driver(name)?.unstageVolume('v', '/s', never);

describe('registration of a CSI driver', () => {
  it('a CSI driver is registered and reported after it has answered NodeGetInfo', async () => {
    const disk = await driver('/a', { nodeId: 'id', maxVolumesPerNode: 5n, topology: { zone: 'z' } });
    expect(registry.validate(NAME, '/a', ['1.0.0'])).toBeUndefined();
    await register('/a');
    expect(registry.driver(NAME)?.name).toBe(NAME);
    expect(reported.get(NAME)).toEqual({ nodeId: 'id', maxVolumes: 5, topology: { zone: 'z' } });
    expect(changes).toEqual([NAME]);
    await unstage();
    expect(disk.calls.map(({ call }) => call)).toEqual(['NodeGetInfo', 'NodeUnstageVolume']);
  });

  it('the registry returns undefined for an unknown CSI driver', () => {
    expect(registry.driver('nobody.example.com')).toBeUndefined();
  });

  it('a refused CSI driver gets a reason that names its endpoint', () => {
    expect(registry.validate(NAME, '/a', [])).toBe(
      `validation failed for CSI Driver ${NAME} at endpoint /a: kubernetes.io/csi: ValidatePlugin for CSI driver ` +
        `"${NAME}" failed. Plugin returned an empty list for supported versions`,
    );
  });

  it('calls in progress of a deregistered CSI driver fail and are not final', async () => {
    const disk = await driver('/a');
    await register('/a');
    disk.always('NodeUnstageVolume', { hangs: true });
    const failing = unstage()?.catch((error: unknown) => error);
    await clock.settle();
    registry.deregister(NAME, '/a');
    expect(await failing).toMatchObject({ code: 'CANCELLED', isFinal: false });
    expect(registry.driver(NAME)).toBeUndefined();
    expect(reported.size).toBe(0);
    expect(changes).toEqual([NAME, NAME]);
  });

  it('a restarted CSI driver registers again with its new capabilities', async () => {
    const disk = await driver('/a');
    await register('/a');
    expect(await registry.driver(NAME)?.capabilities(never)).toMatchObject({ expandVolume: true });
    disk.stop();
    registry.deregister(NAME, '/a');
    await driver('/a', { capabilities: { expandVolume: false }, nodeId: 'other' });
    await register('/a');
    expect(await registry.driver(NAME)?.capabilities(never)).toMatchObject({ expandVolume: false });
    expect(reported.get(NAME)).toMatchObject({ nodeId: 'other' });
  });

  it('without an API server, a CSI driver is registered on the node', async () => {
    await driver('/a');
    const alone = new CsiDriverRegistry({ transport: sockets });
    await alone.register(NAME, '/a', ['1.0.0'], never);
    await alone.driver(NAME)?.unstageVolume('v', '/s', never);
    alone.deregister(NAME, '/a');
    expect(alone.driver(NAME)).toBeUndefined();
  });
});

describe('several sockets of one driver', () => {
  it('a second socket of a CSI driver is refused if its version is not higher', async () => {
    await driver('/a');
    await register('/a');
    const refused = `Another driver with the same name is already registered with a higher supported version: "1.0.0"`;
    expect(registry.validate(NAME, '/b', ['1.0.0'])).toContain(refused);
    await expect(register('/b')).rejects.toThrow(refused);
    registry.deregister(NAME, '/b');
    await unstage();
    expect(reported.size).toBe(1);
    registry.deregister(NAME, '/a');
    await driver('/b');
    await register('/b');
  });

  it("a socket with a higher version replaces the CSI driver's old socket, whose removal then has no effect", async () => {
    const old = await driver('/a');
    const next = await driver('/b', { nodeId: 'new' });
    await register('/a');
    await register('/b', '1.1.0');
    registry.deregister(NAME, '/a');
    await unstage();
    expect([old.count('NodeUnstageVolume'), next.count('NodeUnstageVolume')]).toEqual([0, 1]);
    expect(reported.get(NAME)).toMatchObject({ nodeId: 'new' });
  });

  it('a socket with a higher version that fails to register does not replace the CSI driver', async () => {
    await driver('/a', { nodeId: 'old' });
    const next = await driver('/b', { nodeId: 'new' });
    await register('/a');
    next.always('NodeGetInfo', { code: 'INTERNAL' });
    await expect(register('/b', '1.1.0')).rejects.toThrow('rpc error: code = Internal desc = fault of a test');
    await unstage();
    next.always('NodeGetInfo', undefined);
    beforeInstall = async () => {
      throw new Error('topology');
    };
    await expect(register('/b', '1.1.0')).rejects.toThrow('topology');
    await unstage();
    expect(reported.get(NAME)).toMatchObject({ nodeId: 'old' });
  });

  it('of two sockets of one CSI driver that register at the same time, one is registered', async () => {
    const drivers = [await driver('/a', { nodeId: 'a' }), await driver('/b', { nodeId: 'b' })];
    for (const one of drivers) one.next('NodeGetInfo', { delayMs: 1_000 });
    const both = Promise.allSettled([register('/a'), register('/b')]);
    await clock.advance(1_000);
    expect((await both).map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
    await unstage();
    expect(drivers[0]?.count('NodeUnstageVolume')).toBe(1);
    expect(reported.get(NAME)).toMatchObject({ nodeId: 'a' });
  });
});

describe('failed and aborted registrations', () => {
  it.each([
    ['fails', { code: 'INTERNAL' }, 'rpc error: code = Internal desc = fault of a test'],
    ['never ends', { hangs: true }, 'rpc error: code = DeadlineExceeded desc = context deadline exceeded'],
  ] as const)('a CSI driver whose NodeGetInfo %s is neither registered nor reported', async (_, fault, message) => {
    const disk = await driver('/a');
    disk.next('NodeGetInfo', fault);
    const failing = expect(register('/a')).rejects.toThrow(message);
    await clock.advance(120_000);
    await failing;
    expect(registry.driver(NAME)).toBeUndefined();
    expect(reported.size).toBe(0);
    await register('/a');
  });

  it('a registration is aborted when its socket is removed', async () => {
    const disk = await driver('/a');
    disk.next('NodeGetInfo', { hangs: true });
    const gone = new AbortController();
    const failing = register('/a', '1.0.0', NAME, gone.signal).catch((error: unknown) => error);
    await clock.settle();
    const reason = new Error('socket /a is gone');
    gone.abort(reason);
    expect(await failing).toBe(reason);
    expect(clock.pendingTimers).toBe(0);
  });

  it('the registration of a hung CSI driver delays no other driver', async () => {
    const hung = await driver('/hung');
    hung.always('NodeGetInfo', { hangs: true });
    const other = await driver('/other', { name: 'other.csi.example.com' });
    const failing = expect(register('/hung')).rejects.toThrow('DeadlineExceeded');
    await register('/other', '1.0.0', 'other.csi.example.com');
    await unstage('other.csi.example.com');
    expect(other.count('NodeUnstageVolume')).toBe(1);
    await clock.advance(120_000);
    await failing;
  });

  it('a socket path that is too long is refused', async () => {
    await expect(register(`/${'x'.repeat(200)}`)).rejects.toThrow();
    expect(registry.driver(NAME)).toBeUndefined();
  });
});

describe('the number of volumes that fit on the node', () => {
  let stop: AbortController;
  let running: Promise<void>;
  beforeEach(() => {
    stop = new AbortController();
    running = registry.start(stop.signal);
  });
  afterEach(async () => {
    stop.abort();
    await running;
    expect(clock.pendingTimers).toBe(0);
  });

  it('the volume limit of a CSI driver is read with the period of its CSIDriver object', async () => {
    const disk = await driver('/a', { maxVolumesPerNode: 5n });
    periods.set(NAME, 60);
    await register('/a');
    disk.maxVolumesPerNode = 4n;
    await clock.advance(59_999);
    expect(updates).toEqual([]);
    await clock.advance(1);
    expect(updates).toEqual([`${NAME} 4`]);
    await clock.advance(60_000);
    expect(disk.count('NodeGetInfo')).toBe(3);
  });

  it('the volume limit of a CSI driver is read once if CSIDriver has no period', async () => {
    const disk = await driver('/a');
    await register('/a');
    await clock.advance(3_600_000);
    expect(disk.count('NodeGetInfo')).toBe(1);
  });

  it('reads of the volume limit follow changes of the period, and stop with the CSI driver', async () => {
    const disk = await driver('/a');
    await register('/a');
    periods.set(NAME, 100);
    registry.csiDriverChanged(NAME);
    await clock.advance(50_000);
    // An unrelated change does not restart the period.
    registry.csiDriverChanged(NAME);
    await clock.advance(50_000);
    expect(disk.count('NodeGetInfo')).toBe(2);
    periods.set(NAME, 0.001);
    registry.csiDriverChanged(NAME);
    await clock.advance(30_000);
    expect(disk.count('NodeGetInfo')).toBe(5);
    periods.delete(NAME);
    registry.csiDriverChanged(NAME);
    await clock.advance(100_000);
    expect(disk.count('NodeGetInfo')).toBe(5);
    periods.set(NAME, 10);
    registry.csiDriverChanged(NAME);
    registry.deregister(NAME, '/a');
    await clock.advance(100_000);
    expect(disk.count('NodeGetInfo')).toBe(5);
  });

  it('the volume limit is read again after a failed read', async () => {
    const disk = await driver('/a');
    periods.set(NAME, 10);
    await register('/a');
    disk.next('NodeGetInfo', { code: 'INTERNAL' });
    await clock.advance(20_000);
    expect(updates).toHaveLength(1);
    expect(lines).toMatchObject([
      { level: 'error', fields: { driver: NAME }, message: 'Failed to update the volume limit of a CSI driver' },
      { level: 'info', fields: { driver: NAME, failures: 1 } },
    ]);
  });

  it('a CSI driver whose volume limit cannot be read is logged once, and with the number of failures when it can', async () => {
    const disk = await driver('/a');
    periods.set(NAME, 10);
    await register('/a');
    disk.always('NodeGetInfo', { code: 'INTERNAL' });
    await clock.advance(60_000);
    disk.always('NodeGetInfo', undefined);
    await clock.advance(20_000);
    expect(lines.filter(({ level }) => level !== 'debug')).toMatchObject([
      { level: 'error', message: 'Failed to update the volume limit of a CSI driver' },
      { level: 'info', message: 'Updated the volume limit of a CSI driver again', fields: { failures: 6 } },
    ]);
  });

  it('the volume limit is read immediately if an attachment failed because the node is full', async () => {
    const disk = await driver('/a', { maxVolumesPerNode: 5n });
    await register('/a');
    disk.maxVolumesPerNode = 2n;
    await registry.refresh(NAME, never);
    expect(updates).toEqual([`${NAME} 2`]);
    await registry.refresh('nobody.example.com', never);
    expect(updates).toHaveLength(1);
  });
});
