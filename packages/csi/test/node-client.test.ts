import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect, createServer, type Socket } from 'node:net';
import { FakeClock } from '@node-agent/async/testing';
import type { CsiDriverClient, CsiPublishRequest, CsiStageRequest } from '@node-agent/contracts';
import { MemorySockets } from '@node-agent/grpc/testing';
import { MetricsRegistry } from '@node-agent/telemetry';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { CsiError, CsiNodeClient } from '../src/index.ts';
import { type CsiNodeCall, FakeCsiDriver, type FakeCsiDriverOptions } from '../src/testing.ts';

const NAME = 'disk.csi.example.com';
const STAGING = '/var/lib/kubelet/plugins/kubernetes.io/csi/disk.csi.example.com/1/globalmount';
const TARGET = '/var/lib/kubelet/pods/1/volumes/kubernetes.io~csi/pv1/mount';
const SECRETS = { password: 'hunter2-hunter2' };

const mount = { type: 'mount', fsType: 'ext4', mountFlags: ['noatime'] } as const;
const stage: CsiStageRequest = {
  volumeId: 'volume-1',
  publishContext: { lun: '7' },
  stagingTargetPath: STAGING,
  capability: { access: mount, accessMode: 'SINGLE_NODE_WRITER' },
  secrets: SECRETS,
  volumeContext: { pool: 'fast' },
};
const publish: CsiPublishRequest = { ...stage, targetPath: TARGET, readOnly: true };
const expand = {
  ...{ volumeId: 'volume-1', volumePath: TARGET, stagingTargetPath: STAGING, requiredBytes: 2n ** 60n + 1n },
  ...{ capability: stage.capability, secrets: SECRETS },
};

/** Every call of the node service, as a caller makes it. */
const CALLS: readonly [CsiNodeCall, (client: CsiNodeClient, signal: AbortSignal) => Promise<unknown>][] = [
  ['NodeGetInfo', (client, signal) => client.nodeInfo(signal)],
  ['NodeGetCapabilities', (client, signal) => client.capabilities(signal)],
  ['NodeStageVolume', (client, signal) => client.stageVolume(stage, signal)],
  ['NodePublishVolume', (client, signal) => client.publishVolume(publish, signal)],
  ['NodeGetVolumeStats', (client, signal) => client.volumeStats('volume-1', TARGET, STAGING, signal)],
  ['NodeExpandVolume', (client, signal) => client.expandVolume(expand, signal)],
  ['NodeUnpublishVolume', (client, signal) => client.unpublishVolume('volume-1', TARGET, signal)],
  ['NodeUnstageVolume', (client, signal) => client.unstageVolume('volume-1', STAGING, signal)],
];

const { signal } = new AbortController();
let clock: FakeClock;
let sockets: MemorySockets;
let driver: FakeCsiDriver;
let client: CsiNodeClient;
let metrics: MetricsRegistry;

beforeEach(() => {
  clock = new FakeClock();
  sockets = new MemorySockets();
  metrics = new MetricsRegistry();
});
afterEach(() => client.close());

async function inMemory(options: Partial<FakeCsiDriverOptions> = {}): Promise<void> {
  driver = new FakeCsiDriver({ socketPath: '/csi.sock', name: NAME, transport: sockets, clock, ...options });
  await driver.start();
  client = new CsiNodeClient({ clock, metrics, transport: sockets }, { name: NAME, socketPath: '/csi.sock' });
}

async function failureOf(call: Promise<unknown>): Promise<CsiError> {
  const error: unknown = await call.then(
    () => 'no failure',
    (reason: unknown) => reason,
  );
  if (!CsiError.is(error)) throw new Error(`not a CsiError: ${String(error)}`);
  return error;
}

/** Makes the node's volume exist, so that every call may succeed. */
function usedVolume(name?: CsiNodeCall): void {
  driver.volumes.staged.set('volume-1', STAGING);
  if (name === 'NodeUnstageVolume') return;
  driver.volumes.published.set(TARGET, { volumeId: 'volume-1', readOnly: true });
}

describe('CSI requests', () => {
  it('CSI requests have all fields that the specification requires, from staging to unstaging', async () => {
    await inMemory({ topology: { 'example.com/zone': 'z1' }, maxVolumesPerNode: 5n });
    for (const [, call] of CALLS) await call(client, signal);
    expect(driver.violations).toEqual([]);
    expect(driver.volumes.staged.size + driver.volumes.published.size).toBe(0);
    expect(driver.calls.map(({ call }) => call)).toEqual(CALLS.map(([name]) => name));
    const volumeCapability = {
      block: null,
      mount: { fsType: 'ext4', mountFlags: ['noatime'], volumeMountGroup: '' },
      accessMode: { mode: 1 },
    };
    const volume = { volumeId: 'volume-1', publishContext: { lun: '7' }, volumeContext: { pool: 'fast' } };
    const requests = new Map(driver.calls.map(({ call, request }) => [call, request]));
    expect(requests.get('NodeStageVolume')).toEqual({
      ...{ ...volume, stagingTargetPath: STAGING, volumeCapability, secrets: SECRETS },
    });
    expect(requests.get('NodePublishVolume')).toEqual({
      ...{ ...volume, stagingTargetPath: STAGING, targetPath: TARGET, readonly: true },
      ...{ volumeCapability, secrets: SECRETS },
    });
    expect(requests.get('NodeExpandVolume')).toEqual({
      ...{ volumeId: 'volume-1', volumePath: TARGET, stagingTargetPath: STAGING, volumeCapability, secrets: SECRETS },
      capacityRange: { requiredBytes: 2n ** 60n + 1n, limitBytes: 0n },
    });
    const stats = { volumeId: 'volume-1', volumePath: TARGET, stagingTargetPath: STAGING };
    expect(requests.get('NodeGetVolumeStats')).toEqual(stats);
  });

  it('CSI requests for a block volume have no file system type', async () => {
    await inMemory({ capabilities: { stageUnstage: false } });
    const capability = { access: { type: 'block' }, accessMode: 'MULTI_NODE_MULTI_WRITER' } as const;
    await client.publishVolume({ ...publish, capability, stagingTargetPath: '' }, signal);
    expect(driver.calls[0]?.request.volumeCapability).toEqual({ block: {}, mount: null, accessMode: { mode: 5 } });
  });

  it('CSI requests have the volume group if the driver supports it', async () => {
    await inMemory({ capabilities: { volumeMountGroup: true } });
    const access = { ...mount, volumeMountGroup: '2000' };
    await client.stageVolume({ ...stage, capability: { access, accessMode: 'SINGLE_NODE_WRITER' } }, signal);
    expect(driver.calls[0]?.request.volumeCapability).toMatchObject({ mount: { volumeMountGroup: '2000' } });
  });

  it.each([
    ['SINGLE_NODE_SINGLE_WRITER', true, 6],
    ['SINGLE_NODE_MULTI_WRITER', true, 7],
    ['SINGLE_NODE_SINGLE_WRITER', false, 1],
    ['SINGLE_NODE_MULTI_WRITER', false, 1],
  ] as const)(
    'a request for %s with SINGLE_NODE_MULTI_WRITER %s has the access mode %s',
    async (accessMode, capable, mode) => {
      await inMemory({ capabilities: { singleNodeMultiWriter: capable } });
      const capability = { access: mount, accessMode };
      await client.stageVolume({ ...stage, capability }, signal);
      await client.publishVolume({ ...publish, capability }, signal);
      await client.expandVolume({ ...expand, capability }, signal);
      const modes = driver.calls.flatMap(({ request }) => request.volumeCapability ?? []);
      expect(modes).toMatchObject(Array(3).fill({ accessMode: { mode } }));
    },
  );

  it.each<[string, (client: CsiDriverClient) => Promise<unknown>]>([
    ['missing volume id', (to) => to.stageVolume({ ...stage, volumeId: '' }, signal)],
    ['missing staging target path', (to) => to.stageVolume({ ...stage, stagingTargetPath: '' }, signal)],
    ['missing volume id', (to) => to.publishVolume({ ...publish, volumeId: '' }, signal)],
    ['missing target path', (to) => to.publishVolume({ ...publish, targetPath: '' }, signal)],
    ['missing volume id', (to) => to.unpublishVolume('', TARGET, signal)],
    ['missing target path', (to) => to.unpublishVolume('volume-1', '', signal)],
    ['missing staging target path', (to) => to.unstageVolume('volume-1', '', signal)],
    ['missing volume path', (to) => to.expandVolume({ ...expand, volumePath: '' }, signal)],
    ['size can not be less than 0', (to) => to.expandVolume({ ...expand, requiredBytes: -1n }, signal)],
    ['missing target path', (to) => to.volumeStats('volume-1', '', undefined, signal)],
  ])('an invalid CSI request is not sent: %s', async (message, call) => {
    await inMemory();
    expect(await failureOf(call(client))).toMatchObject({ message, code: 'InvalidRequest', isFinal: true });
    expect(driver.calls).toEqual([]);
  });
});

describe('CSI responses', () => {
  it('numbers of CSI responses are returned exactly', async () => {
    await inMemory({
      stats: { usage: [{ unit: 1, total: 2n ** 63n - 1n }] },
      capabilities: { volumeCondition: false },
    });
    usedVolume();
    expect(await client.expandVolume(expand, signal)).toBe(2n ** 60n + 1n);
    const { usage } = await client.volumeStats('volume-1', TARGET, undefined, signal);
    expect(usage).toEqual([{ unit: 'bytes', total: 2n ** 63n - 1n, used: 0n, available: 0n }]);
  });

  it('capabilities of a CSI driver are cached until the connection is lost', async () => {
    await inMemory();
    await client.capabilities(signal);
    await client.capabilities(signal);
    expect(driver.count('NodeGetCapabilities')).toBe(1);
    driver.stop();
    driver.capabilities = { ...driver.capabilities, expandVolume: false };
    await driver.start();
    driver.next('NodeUnstageVolume', { code: 'UNAVAILABLE' });
    await failureOf(client.unstageVolume('volume-1', STAGING, signal));
    expect(await client.capabilities(signal)).toMatchObject({ expandVolume: false });
  });

  it('a failed NodeGetCapabilities call is not cached', async () => {
    await inMemory();
    driver.next('NodeGetCapabilities', { code: 'INTERNAL' });
    expect(await failureOf(client.capabilities(signal))).toMatchObject({ code: 'INTERNAL' });
    expect(await client.capabilities(signal)).toMatchObject({ stageUnstage: true });
  });

  it('a NodeGetInfo response without a node ID is rejected', async () => {
    await inMemory({ nodeId: '' });
    const failure = await failureOf(client.nodeInfo(signal));
    expect(failure).toMatchObject({ code: 'InvalidResponse', isFinal: false, driver: NAME, call: 'NodeGetInfo' });
  });
});

describe('failures of CSI calls', () => {
  it('the error of a CSI call has the message of a Go client and names driver and call', async () => {
    await inMemory();
    driver.next('NodeStageVolume', { code: 'NOT_FOUND', details: 'no such disk' });
    const failure = await failureOf(client.stageVolume(stage, signal));
    expect(failure.message).toBe('rpc error: code = NotFound desc = no such disk');
    expect(failure).toMatchObject({ code: 'NOT_FOUND', isFinal: true, driver: NAME, call: 'NodeStageVolume' });
  });

  it.each(['NodeStageVolume', 'NodePublishVolume', 'NodeExpandVolume'] as const)(
    'W4: the error of %s contains no secret, even if the driver repeats the secret',
    async (name) => {
      await inMemory();
      usedVolume();
      driver.next(name, { code: 'INTERNAL', details: `login with ${SECRETS.password} failed` });
      const [, call] = CALLS.find(([one]) => one === name) ?? [];
      const failure = await failureOf(call?.(client, signal) ?? Promise.resolve());
      expect(failure.message).toContain('login with ***stripped*** failed');
      const everything = `${failure.stack} ${JSON.stringify(failure)} ${String(failure.cause)}`;
      expect(everything).not.toContain(SECRETS.password);
    },
  );

  it('a failure to connect to a CSI driver is an error that is not final', async () => {
    client = new CsiNodeClient({ clock, transport: sockets }, { name: NAME, socketPath: '/nobody.sock' });
    expect(await failureOf(client.stageVolume(stage, signal))).toMatchObject({ code: 'UNAVAILABLE', isFinal: false });
  });

  it('a call after the CSI client was closed fails and is not final', async () => {
    await inMemory();
    client.close();
    expect(await failureOf(client.capabilities(signal))).toMatchObject({ code: 'CANCELLED', isFinal: false });
  });

  it('failed CSI calls are counted by gRPC code, in addition to successful ones', async () => {
    await inMemory();
    driver.next('NodeStageVolume', { code: 'INTERNAL' });
    await failureOf(client.stageVolume(stage, signal));
    await client.stageVolume(stage, signal);
    const text = metrics.text();
    for (const code of ['Internal', 'OK']) {
      const labels = `driver_name="${NAME}",method_name="/csi.v1.Node/NodeStageVolume",grpc_status_code="${code}"`;
      expect(text).toContain(`csi_operations_seconds_count{${labels},migrated="false"} 1`);
    }
  });
});

describe('W6: a driver that never answers', () => {
  it.each(CALLS)(
    'W6: %s of a CSI driver that never answers fails after two minutes with an error that is not final',
    async (name, call) => {
      await inMemory();
      usedVolume(name);
      driver.always(name, { hangs: true });
      const failing = failureOf(call(client, signal));
      await clock.advance(119_999);
      expect(driver.count(name)).toBe(1);
      await clock.advance(1);
      const failure = await failing;
      expect(failure).toMatchObject({ code: 'DEADLINE_EXCEEDED', isFinal: false, call: name });
      expect(failure.message).toBe('rpc error: code = DeadlineExceeded desc = context deadline exceeded');
      driver.always(name, undefined);
      await call(client, signal);
      expect(driver.violations).toEqual([]);
      expect(clock.pendingTimers).toBe(0);
    },
  );

  it.each(CALLS)("W6: %s is cancelled with the caller's reason if its caller aborts it", async (name, call) => {
    await inMemory();
    usedVolume(name);
    driver.always(name, { hangs: true });
    const stop = new AbortController();
    const failing = call(client, stop.signal).catch((error: unknown) => error);
    await clock.settle();
    const reason = new Error('the pod was deleted');
    stop.abort(reason);
    expect(await failing).toBe(reason);
    expect(clock.pendingTimers).toBe(0);
  });

  it('W6: a call without an answer delays no other call of this or another CSI driver', async () => {
    await inMemory();
    const other = new FakeCsiDriver({ socketPath: '/other.sock', transport: sockets });
    await other.start();
    using second = new CsiNodeClient({ clock, transport: sockets }, { name: 'other', socketPath: '/other.sock' });
    driver.always('NodeStageVolume', { hangs: true });
    const hanging = failureOf(client.stageVolume(stage, signal));
    await second.stageVolume(stage, signal);
    await client.unstageVolume('volume-2', STAGING, signal);
    await clock.advance(120_000);
    expect(await hanging).toMatchObject({ code: 'DEADLINE_EXCEEDED' });
  });

  it('a CSI call that is answered late, within its deadline, succeeds', async () => {
    await inMemory();
    driver.next('NodeStageVolume', { delayMs: 119_000 });
    const staging = client.stageVolume(stage, signal);
    await clock.advance(119_000);
    await staging;
    expect(driver.volumes.staged.get('volume-1')).toBe(STAGING);
  });

  it('a repeated NodeStageVolume succeeds if the first one staged the volume and was never answered', async () => {
    await inMemory();
    driver.next('NodeStageVolume', { acts: true, hangs: true });
    const failing = failureOf(client.stageVolume(stage, signal));
    await clock.advance(120_000);
    expect((await failing).isFinal).toBe(false);
    await client.stageVolume(stage, signal);
    expect(driver.violations).toEqual([]);
  });
});

describe('CSI calls over a real socket', () => {
  let directory: string;
  beforeEach(async () => {
    directory = await mkdtemp('/tmp/csi-');
    const socketPath = `${directory}/csi.sock`;
    driver = new FakeCsiDriver({ socketPath, name: NAME });
    await driver.start();
    client = new CsiNodeClient({}, { name: NAME, socketPath });
  });
  afterEach(async () => {
    driver.stop();
    await rm(directory, { recursive: true });
  });

  it('every CSI call succeeds over a real socket', async () => {
    for (const [, call] of CALLS) await call(client, signal);
    expect(driver.violations).toEqual([]);
    expect(driver.calls.map(({ call }) => call)).toEqual(CALLS.map(([name]) => name));
  });

  it.each(CALLS)(
    '%s: a CSI response that cannot be decoded is not final, and the error names driver and call',
    async (name, call) => {
      usedVolume(name);
      driver.next(name, { garbage: Uint8Array.of(0x0a, 0xff, 0xff, 0xff, 0x07) });
      const failure = await failureOf(call(client, signal));
      expect(failure).toMatchObject({ code: 'InvalidResponse', isFinal: false, call: name });
      expect(failure.message).toMatch(`response of driver ${NAME} to ${name} is not valid: `);
      await call(client, signal);
    },
  );

  it('a CSI response with text that is not UTF-8 is rejected', async () => {
    driver.next('NodeGetInfo', { garbage: Uint8Array.of(0x0a, 2, 0xc3, 0x28) });
    const failure = await failureOf(client.nodeInfo(signal));
    expect(failure).toMatchObject({ code: 'InvalidResponse' });
    expect(failure.message).toContain('is not UTF-8');
  });

  it('a CSI response of more than 4 MiB is rejected', async () => {
    driver.next('NodeGetInfo', { garbage: new Uint8Array(5 * 1024 * 1024) });
    expect(await failureOf(client.nodeInfo(signal))).toMatchObject({ code: 'RESOURCE_EXHAUSTED', isFinal: false });
  });

  it.each(CALLS)('%s: a CSI driver that dies in the call fails it without a final code', async (name, call) => {
    usedVolume(name);
    driver.next(name, { dies: true });
    const failure = await failureOf(call(client, signal));
    expect(failure.isFinal).toBe(false);
    expect(['UNAVAILABLE', 'CANCELLED']).toContain(failure.code);
    await rm(driver.socketPath, { force: true });
    await driver.start();
    // The first call after the restart succeeds without a pause.
    await call(client, signal);
  });

  it('a CSI driver that is killed in the call fails it with UNAVAILABLE, and the next call opens a connection', async () => {
    const socketPath = `${directory}/killed.sock`;
    const connections = new Set<Socket>();
    const relay = createServer((from) => {
      const to = connect(driver.socketPath);
      connections.add(from);
      from.on('error', () => {}).pipe(to.on('error', () => {}));
      to.pipe(from);
    });
    await once(relay.listen(socketPath), 'listening');
    using relayed = new CsiNodeClient({}, { name: NAME, socketPath });
    driver.next('NodeStageVolume', { acts: true, hangs: true });
    const failing = failureOf(relayed.stageVolume(stage, signal));
    await expect.poll(() => driver.count('NodeStageVolume')).toBe(1);
    for (const connection of connections) connection.destroy();
    expect(await failing).toMatchObject({ code: 'UNAVAILABLE', isFinal: false });
    await relayed.stageVolume(stage, signal);
    expect(connections.size).toBe(2);
    relay.close();
  });

  it('the capabilities of a restarted CSI driver are requested again', async () => {
    expect(await client.capabilities(signal)).toMatchObject({ volumeStats: true });
    driver.stop();
    await rm(driver.socketPath, { force: true });
    driver.capabilities = { ...driver.capabilities, volumeStats: false };
    await driver.start();
    await expect.poll(() => client.capabilities(signal)).toMatchObject({ volumeStats: false });
  });
});
