import { seededRandom } from '@node-agent/async';
import { FakeClock } from '@node-agent/async/testing';
import { MetricsRegistry } from '@node-agent/telemetry';
import { captureLogger } from '@node-agent/telemetry/testing';
import { afterEach, describe, expect, test } from 'vitest';
import { apiMicroTime } from '../src/api-time.ts';
import { NodeLease } from '../src/node-lease.ts';
import { NodeStatusManager } from '../src/node-status-manager.ts';
import { ApiError, FakeApi } from './fake-api.ts';

const HANG = new Promise<never>(() => {});
// The longest time between two renewals: a quarter of 40 s, plus up to 4 %.
const ROUND_MS = 10_400;

const running: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const stop of running.splice(0)) await stop();
});

function setUp(options: { readonly node?: boolean; readonly leaseDurationSeconds?: number } = {}) {
  const clock = new FakeClock();
  const api = new FakeApi();
  if (options.node !== false) api.putNode({ metadata: { name: 'n1', uid: 'u1' } });
  const { logger, lines } = captureLogger();
  let heartbeatFailures = 0;
  let renewals = 0;
  let missing = 0;
  const metrics = new MetricsRegistry();
  const { leaseDurationSeconds } = options;
  const lease = new NodeLease(
    {
      leases: api,
      nodes: api,
      clock,
      random: seededRandom(1),
      logger,
      metrics,
      onRepeatedHeartbeatFailure: () => void heartbeatFailures++,
      onRenewed: () => void renewals++,
      onNodeMissing: () => void missing++,
    },
    { nodeName: 'n1', ...(leaseDurationSeconds !== undefined && { leaseDurationSeconds }) },
  );
  const abort = new AbortController();
  const start = async (): Promise<void> => {
    const ended = lease.start(abort.signal);
    running.push(async () => {
      abort.abort();
      await ended;
    });
    await clock.settle();
  };
  return {
    clock,
    api,
    lines,
    lease,
    start,
    metrics,
    failures: () => heartbeatFailures,
    renewals: () => renewals,
    missing: () => missing,
  };
}

describe('the lease of a node', () => {
  test('creates the lease with the node as its owner, then renews it every 10 s', async () => {
    const { api, clock, start, lease, renewals } = setUp();
    await start();
    expect(api.leases.get('n1')).toMatchObject({
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: {
        name: 'n1',
        namespace: 'kube-node-lease',
        ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: 'n1', uid: 'u1' }],
      },
      spec: { holderIdentity: 'n1', leaseDurationSeconds: 40, renewTime: '2026-01-01T00:00:00.000000Z' },
    });
    for (let round = 1; round <= 5; round++) {
      await clock.advance(ROUND_MS);
      expect(api.count('updateLease')).toBe(round);
    }
    expect(lease.renewedAtMs).toBeGreaterThan(clock.monotonic() - ROUND_MS);
    // The first lease was created, later ones were renewed.
    expect(renewals()).toBe(6);
    expect(api.count('getLease')).toBe(1);
    expect(api.count('getNode')).toBe(1);
  });

  test('renews an existing lease with its own duration and keeps other fields', async () => {
    const { api, start } = setUp({ leaseDurationSeconds: 20 });
    const owner = { apiVersion: 'v1', kind: 'Node', name: 'n1', uid: 'old' };
    api.putLease({
      metadata: { name: 'n1', labels: { mine: 'kept' }, ownerReferences: [owner] },
      spec: { holderIdentity: 'n1', leaseDurationSeconds: 40, renewTime: 'x' },
    });
    await start();
    expect(api.leases.get('n1')).toMatchObject({
      metadata: { labels: { mine: 'kept' }, ownerReferences: [owner] },
      spec: { leaseDurationSeconds: 20, renewTime: '2026-01-01T00:00:00.000000Z' },
    });
    expect(api.count('createLease')).toBe(0);
  });

  test('creates the lease soon after the node exists, and ignores the failures before that', async () => {
    const { api, start, clock, lines } = setUp({ node: false });
    await start();
    await clock.advance(500);
    expect(api.leases.size).toBe(0);
    expect(lines.map(({ level }) => level)).toEqual(['info', 'info']);
    api.putNode({ metadata: { name: 'n1', uid: 'u2' } });
    await clock.advance(1000);
    expect(api.leases.get('n1')?.metadata.ownerReferences?.[0]?.uid).toBe('u2');
  });

  test('adds the node as a missing owner of the lease without delaying the renewal', async () => {
    const { api, start, clock } = setUp();
    api.putLease({ metadata: { name: 'n1' }, spec: {} });
    api.fault = (method) => (method === 'getNode' ? HANG : undefined);
    await start();
    expect(api.leases.get('n1')?.spec?.renewTime).toBe('2026-01-01T00:00:00.000000Z');
    await clock.advance(ROUND_MS);
    expect(api.count('updateLease')).toBe(2);
    api.fault = () => undefined;
    await clock.advance(3 * ROUND_MS);
    expect(api.leases.get('n1')?.metadata.ownerReferences?.[0]?.uid).toBe('u1');
  });

  test('creates the lease without an owner if the node cannot be read in time', async () => {
    const { api, start, clock } = setUp();
    api.fault = (method) => (method === 'getNode' ? HANG : undefined);
    await start();
    await clock.advance(10_000);
    expect(api.leases.get('n1')?.metadata).not.toHaveProperty('ownerReferences');
  });

  test('N6: creates no lease for a missing node, and notifies the registration at each attempt', async () => {
    const { api, start, clock, missing } = setUp({ node: false });
    await start();
    expect([missing(), api.leases.size]).toEqual([1, 0]);
    api.fault = (method) => (method === 'getNode' ? Promise.reject(new ApiError('InternalError')) : undefined);
    await clock.advance(200);
    expect([missing(), api.leases.size]).toEqual([1, 1]);
  });

  test('N6: notifies the registration of a missing node at each renewal of a lease without an owner', async () => {
    const { api, start, clock, missing } = setUp({ node: false });
    api.putLease({ metadata: { name: 'n1' }, spec: {} });
    await start();
    expect(missing()).toBe(1);
    await clock.advance(ROUND_MS);
    expect(missing()).toBe(2);
    api.putNode({ metadata: { name: 'n1', uid: 'u2' } });
    await clock.advance(2 * ROUND_MS);
    expect(missing()).toBe(2);
    expect(api.leases.get('n1')?.metadata.ownerReferences?.[0]?.uid).toBe('u2');
  });

  test('creates a deleted lease again at the next renewal, with the current owner', async () => {
    const { api, start, clock, failures } = setUp();
    await start();
    api.leases.clear();
    api.putNode({ metadata: { name: 'n1', uid: 'u2' } });
    await clock.advance(ROUND_MS);
    expect(api.count('updateLease')).toBe(1);
    expect(failures()).toBe(0);
    expect(api.leases.get('n1')?.metadata.ownerReferences?.[0]?.uid).toBe('u2');
  });

  test('N6: a lease that was deleted with its node is not created again with the deleted node as owner', async () => {
    const { api, start, clock, missing } = setUp();
    await start();
    api.leases.clear();
    api.nodes.clear();
    api.fault = (method) => (method === 'getNode' ? Promise.reject(new ApiError('InternalError')) : undefined);
    await clock.advance(ROUND_MS);
    expect([missing(), api.leases.size]).toEqual([0, 1]);
    api.fault = () => undefined;
    await clock.advance(2 * ROUND_MS);
    expect(missing()).toBeGreaterThan(0);
    expect(api.leases.get('n1')?.metadata).not.toHaveProperty('ownerReferences');
  });

  test('reads a lease that another client changed and renews it in the same round', async () => {
    const { api, start, clock, failures } = setUp();
    await start();
    const lease = api.leases.get('n1');
    if (lease === undefined) throw new Error('no lease');
    api.putLease({ ...lease, metadata: { ...lease.metadata, labels: { theirs: 'kept' } } });
    await clock.advance(ROUND_MS);
    expect(api.leases.get('n1')?.metadata.labels).toEqual({ theirs: 'kept' });
    expect(api.leases.get('n1')?.spec?.renewTime).toMatch(/^2026-01-01T00:00:10/);
    expect(api.count('updateLease')).toBe(2);
    expect(failures()).toBe(0);
  });

  test('warns if a second kubelet renews the lease, but not if the response to its own renewal was lost', async () => {
    const { api, start, clock, lines } = setUp();
    const warned = () =>
      lines.filter(({ message }) => message === 'Another kubelet renews the lease of this node').length;
    await start();
    const renew = api.updateLease.bind(api);
    api.updateLease = async (lease) => {
      api.updateLease = renew;
      await renew(lease);
      throw new Error('the answer is lost');
    };
    await clock.advance(ROUND_MS);
    expect(api.count('updateLease')).toBe(3);
    expect(warned()).toBe(0);
    const second = new NodeLease(
      {
        leases: api,
        nodes: api,
        clock,
        random: seededRandom(9),
        logger: captureLogger().logger,
        metrics: new MetricsRegistry(),
      },
      { nodeName: 'n1' },
    );
    const abort = new AbortController();
    const ended = second.start(abort.signal);
    await clock.advance(2 * ROUND_MS);
    abort.abort();
    await ended;
    expect(warned()).toBeGreaterThan(0);
  });

  test('tries a renewal five times without delay, and calls onRepeatedHeartbeatFailure from the second failure on', async () => {
    const { api, start, clock, failures, metrics } = setUp();
    await start();
    api.fault = (method) => (method === 'updateLease' ? Promise.reject(new ApiError('InternalError')) : undefined);
    await clock.advance(ROUND_MS);
    // The lease was updated five times with the cached version and five times with the version read from the server.
    expect(api.count('updateLease')).toBe(10);
    expect(failures()).toBe(8);
    expect(await metrics.text()).toContain('node_agent_node_lease_renewal_failures_total 10');
    api.fault = () => undefined;
    await clock.advance(ROUND_MS);
    expect(api.count('updateLease')).toBe(11);
  });

  test('retries reading the lease with a delay that doubles from 200 ms to 7 s while the API server is down', async () => {
    const { api, start, clock } = setUp();
    const times: number[] = [];
    api.fault = (method) => {
      if (method !== 'getLease') return undefined;
      times.push(clock.monotonic());
      return Promise.reject(new Error('connection refused'));
    };
    await start();
    await clock.advance(30_000);
    const gaps = times.slice(1).map((time, i) => time - (times[i] ?? 0));
    expect(gaps).toEqual([200, 400, 800, 1600, 3200, 6400, 7000, 7000]);
    api.fault = () => undefined;
    await clock.advance(7000);
    expect(api.leases.size).toBe(1);
  });

  test('aborts a lease request after 10 s and sends it again', async () => {
    const { api, start, clock, failures } = setUp();
    await start();
    let hung = 0;
    api.fault = (method) => (method === 'updateLease' && hung++ < 2 ? HANG : undefined);
    await clock.advance(ROUND_MS + 20_000);
    expect(failures()).toBe(1);
    expect(api.leases.get('n1')?.spec?.renewTime).not.toBe('2026-01-01T00:00:00.000000Z');
  });

  test("the lease renewal keeps its interval when the wall clock jumps, and writes the wall clock's time", async () => {
    const { api, start, clock } = setUp();
    await start();
    clock.jumpWallClock(-3_600_000);
    await clock.advance(ROUND_MS);
    expect(api.count('updateLease')).toBe(1);
    expect(api.leases.get('n1')?.spec?.renewTime).toMatch(/^2025-12-31T23:00:10/);
    clock.jumpWallClock(86_400_000);
    await clock.advance(ROUND_MS);
    expect(api.count('updateLease')).toBe(2);
  });

  test('a stopped NodeLease leaves no timers', async () => {
    const { start, clock } = setUp();
    await start();
    await clock.advance(25_000);
    for (const stop of running.splice(0)) await stop();
    expect(clock.pendingTimers).toBe(0);
  });
});

test('N6: renews the lease every 10 s while status updates, machine info and image listing hang', async () => {
  const { api, start, clock, lines } = setUp();
  const hung = new Set(['getNode', 'getCachedNode', 'createNode', 'patchNodeStatus']);
  const random = seededRandom(2);
  const { logger } = captureLogger();
  const manager = new NodeStatusManager(
    {
      nodes: api,
      sources: {
        machine: () => HANG,
        network: () => HANG,
        runtimeVersion: () => HANG,
        images: () => HANG,
        ephemeralStorageBytes: () => HANG,
        checkRuntime: () => HANG,
        readiness: () => ({ runtimeErrors: [], networkErrors: [] }),
      },
      clock,
      random,
      logger,
      metrics: new MetricsRegistry(),
      recorder: { event() {} },
    },
    { nodeName: 'n1', hostname: 'n1', kubeletVersion: 'v1', architecture: 'amd64' },
  );
  const abort = new AbortController();
  const ended = manager.start(abort.signal);
  running.push(async () => {
    abort.abort();
    await ended;
  });
  await start();
  api.fault = (method) => (hung.has(method) ? HANG : undefined);
  const renewals: string[] = [];
  for (let round = 1; round <= 30; round++) {
    await clock.advance(ROUND_MS);
    renewals.push(api.leases.get('n1')?.spec?.renewTime ?? '');
  }
  expect(new Set(renewals).size).toBe(30);
  expect(lines.filter(({ level }) => level === 'error')).toEqual([]);
});

test('lease times have microseconds', () => {
  expect(apiMicroTime(Date.UTC(2026, 0, 1) + 1.25)).toBe('2026-01-01T00:00:00.001250Z');
  expect(apiMicroTime(Date.UTC(2026, 0, 1))).toBe('2026-01-01T00:00:00.000000Z');
});
