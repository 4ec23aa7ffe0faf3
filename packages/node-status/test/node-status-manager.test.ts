import { seededRandom } from '@node-agent/async';
import { FakeClock } from '@node-agent/async/testing';
import { MemoryEventRecorder, MetricsRegistry } from '@node-agent/telemetry';
import { captureLogger } from '@node-agent/telemetry/testing';
import { afterEach, describe, expect, test } from 'vitest';
import type { MachineInfo } from '../src/machine-info.ts';
import { conditionOf, type Node } from '../src/node.ts';
import { nodeReference } from '../src/node-events.ts';
import type { NodeFactSources } from '../src/node-facts.ts';
import { type NodeStatusComponents, NodeStatusManager } from '../src/node-status-manager.ts';
import type { NodeStatusOptions } from '../src/options.ts';
import type { PressureFacts } from '../src/pressure.ts';
import type { ReadinessFacts } from '../src/readiness.ts';
import { ApiError, FakeApi } from './fake-api.ts';

const HANG = new Promise<never>(() => {});
const MACHINE: MachineInfo = {
  machineId: 'm1',
  systemUuid: 's1',
  bootId: 'b1',
  kernelVersion: '6.1.0',
  osImage: 'Debian GNU/Linux 12 (bookworm)',
  cpuCount: 2,
  memoryBytes: 2 ** 30,
  swapBytes: 0,
  hugePages: [],
};
const ROUND_MS = 10_600;

interface Host {
  machine: MachineInfo;
  readiness: ReadinessFacts;
  pressure: PressureFacts;
  volumes: readonly string[] | undefined;
  /** Names of device resources whose plugins are gone. */
  removed: readonly string[];
  /** Names of the sources whose reads never resolve. */
  readonly hung: Set<string>;
  checks: number;
  onCheck: () => void;
}

const running: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const stop of running.splice(0)) await stop();
});

function setUp(
  options: Partial<NodeStatusOptions> = {},
  components: Partial<NodeStatusComponents> = {},
  shared: { readonly clock?: FakeClock; readonly api?: FakeApi } = {},
) {
  const { clock = new FakeClock(), api = new FakeApi() } = shared;
  const host: Host = {
    machine: MACHINE,
    readiness: { runtimeErrors: [], networkErrors: [] },
    pressure: { memory: false, disk: false, pid: false },
    volumes: [],
    removed: [],
    hung: new Set(),
    checks: 0,
    onCheck: () => {},
  };
  const answer = async <T>(name: string, value: () => T): Promise<T> => (host.hung.has(name) ? HANG : value());
  const sources: NodeFactSources = {
    machine: () => answer('machine', () => host.machine),
    network: () =>
      answer('network', () => ({ hostAddresses: ['10.0.0.1'], namedAddresses: [], defaultAddress: '10.0.0.1' })),
    runtimeVersion: () => answer('runtimeVersion', () => ({ name: 'containerd', version: '2.1.9' })),
    images: () => answer('images', () => [{ repoTags: ['a:1'], repoDigests: [], sizeBytes: 1 }]),
    ephemeralStorageBytes: () => answer('storage', () => 2 ** 30),
    checkRuntime: () =>
      answer('check', () => {
        host.checks++;
        host.onCheck();
      }),
    readiness: () => host.readiness,
    pressure: () => host.pressure,
    volumesInUse: () => host.volumes,
    devicePlugins: () => ({ capacity: new Map(), allocatable: new Map(), removed: host.removed }),
  };
  const { logger, lines } = captureLogger();
  const recorder = new MemoryEventRecorder(() => clock.now());
  const metrics = new MetricsRegistry();
  const manager = new NodeStatusManager(
    { nodes: api, sources, clock, random: seededRandom(1), logger, metrics, recorder, ...components },
    { nodeName: 'n1', hostname: 'n1', kubeletVersion: 'v1.36.3+node-agent.0.1.0', architecture: 'amd64', ...options },
  );
  const abort = new AbortController();
  const start = async (): Promise<void> => {
    const ended = manager.start(abort.signal);
    running.push(async () => {
      abort.abort();
      await ended;
    });
    await clock.settle();
  };
  const events = (): readonly string[] => recorder.eventsOf(nodeReference('n1')).map(({ reason }) => reason);
  const node = (): Node => {
    const found = api.nodes.get('n1');
    if (found === undefined) throw new Error('no node');
    return found;
  };
  return { clock, api, host, manager, start, lines, events, node, metrics, recorder };
}

function update(api: FakeApi, change: (node: Node) => Node): void {
  const node = api.nodes.get('n1');
  if (node === undefined) throw new Error('no node');
  api.putNode(change(node));
}

describe('registration', () => {
  test('creates the node with its status and records events', async () => {
    const { start, node, events, manager, metrics } = setUp({ nodeLabels: { rack: 'r1' }, providerId: 'cloud://1' });
    await start();
    expect(node().metadata.labels).toMatchObject({ 'kubernetes.io/hostname': 'n1', rack: 'r1' });
    expect(node().spec?.providerID).toBe('cloud://1');
    expect(conditionOf(node(), 'Ready')).toMatchObject({ status: 'True', message: 'kubelet is posting ready status' });
    expect(node().status?.nodeInfo?.kubeletVersion).toBe('v1.36.3+node-agent.0.1.0');
    expect(events()).toEqual(['NodeHasSufficientMemory', 'NodeHasNoDiskPressure', 'NodeHasSufficientPID']);
    expect(manager.node).toEqual(node());
    expect(await metrics.text()).toMatch(/kubelet_node_name\{node="n1"\} 1\n/);
    expect(await metrics.text()).toContain('kubelet_node_startup_post_registration_duration_seconds');
  });

  test("reports the start phases from the machine's boot to the first Ready", async () => {
    const { start, clock, host, metrics } = setUp({ uptimeMs: 60_000 });
    host.readiness = { runtimeErrors: ['container runtime is down'], networkErrors: [] };
    const startups = async (): Promise<Readonly<Record<string, number>>> => {
      const lines = (await metrics.text()).matchAll(/^kubelet_node_startup_(\w*)duration_seconds (\S+)$/gm);
      return Object.fromEntries([...lines].map(([, phase = '', value]) => [phase, Number(value)]));
    };
    await start();
    expect(await startups()).toEqual({ pre_kubelet_: 60, pre_registration_: 0, registration_: 0 });
    await clock.advance(2000);
    host.readiness = { runtimeErrors: [], networkErrors: [] };
    await clock.advance(1000);
    const { '': total = 0, post_registration_: after = 0 } = await startups();
    expect(after).toBeGreaterThanOrEqual(2);
    expect(total).toBeCloseTo(60 + after, 6);
  });

  test('registration retries after 100 ms, doubling up to 7 s, while the API server is down or reports a conflict', async () => {
    const { start, api, clock } = setUp();
    const times: number[] = [];
    api.fault = (method) => {
      if (method !== 'createNode') return undefined;
      times.push(clock.monotonic());
      return Promise.reject(times.length % 2 === 0 ? new Error('connection refused') : new ApiError('Conflict'));
    };
    await start();
    await clock.advance(20_000);
    const gaps = times.slice(1).map((time, i) => time - (times[i] ?? 0));
    expect(gaps).toEqual([100, 200, 400, 800, 1600, 3200, 6400, 7000]);
    api.fault = () => undefined;
    await clock.advance(7_000);
    expect(api.nodes.has('n1')).toBe(true);
  });

  test('onCreated is called if the node did not exist', async () => {
    let made = 0;
    const onCreated = (): void => void made++;
    const { start, api } = setUp({}, { onCreated });
    await start();
    expect(made).toBe(1);
    await setUp({}, { onCreated }, { api }).start();
    expect(made).toBe(1);
  });

  test('onCreated is called if the node exists after an attempt to create it whose response was lost', async () => {
    let made = 0;
    const { start, api, clock } = setUp({}, { onCreated: () => void made++ });
    api.fault = (method) => {
      if (method !== 'createNode') return undefined;
      api.fault = () => undefined;
      api.putNode({ metadata: { name: 'n1', uid: 'new' } });
      return Promise.reject(new Error('connection reset'));
    };
    const starting = start();
    await clock.advance(100);
    await starting;
    expect([made, api.count('createNode')]).toEqual([1, 2]);
  });

  test('onCreated is called if another node of this name exists when the node is registered again', async () => {
    let made = 0;
    const { start, api, clock, manager } = setUp({}, { onCreated: () => void made++ });
    await start();
    await clock.advance(ROUND_MS);
    api.putNode({ metadata: { name: 'n1', uid: 'other' } });
    manager.registerAgain();
    await clock.settle();
    expect(made).toBe(2);
    await clock.advance(ROUND_MS);
    manager.registerAgain();
    await clock.settle();
    expect([made, api.count('createNode')]).toEqual([2, 3]);
  });

  test('reports a new number of pods immediately, and keeps the old number if the new number is invalid', async () => {
    const { clock, manager, start, node } = setUp({ maxPods: 110 });
    await start();
    expect(node().status?.capacity?.pods).toBe('110');
    manager.setPodLimits({ maxPods: 20 });
    await clock.advance(1_000);
    expect([node().status?.capacity?.pods, node().status?.allocatable?.pods]).toEqual(['20', '20']);
    expect(() => manager.setPodLimits({ maxPods: -1 })).toThrow('maxPods');
    manager.setPodLimits({ podsPerCore: 3 });
    await clock.advance(1_000);
    expect(node().status?.capacity?.pods).toBe('6');
  });

  test('if the machine was rebuilt, extended resources of the existing node are set to 0 once that is known', async () => {
    const GPU = 'example.com/gpu';
    const isNew = Promise.withResolvers<boolean>();
    const { start, api, node, clock } = setUp({ resetExtendedResources: () => isNew.promise });
    api.putNode({ metadata: { name: 'n1' }, status: { capacity: { [GPU]: '4' }, allocatable: { [GPU]: '4' } } });
    await start();
    expect(node().status?.capacity?.[GPU]).toBe('4');
    isNew.resolve(true);
    await clock.settle();
    expect([node().status?.capacity?.[GPU], node().status?.allocatable?.[GPU]]).toEqual(['0', '0']);
  });

  test('registration of an existing node keeps other labels, taints and conditions', async () => {
    const { start, api, node, events } = setUp();
    const foreign = { type: 'GpuHealthy', status: 'True' };
    api.putNode({
      metadata: { name: 'n1', uid: 'u1', labels: { mine: 'kept', 'kubernetes.io/hostname': 'old' } },
      spec: { taints: [{ key: 'kept', effect: 'NoSchedule' }] },
      status: { conditions: [foreign], capacity: { 'hugepages-2Mi': '1Gi', cpu: '1' }, allocatable: { cpu: '1' } },
    });
    await start();
    expect(node().metadata).toMatchObject({ uid: 'u1', labels: { mine: 'kept', 'kubernetes.io/hostname': 'n1' } });
    expect(node().spec).toEqual({ taints: [{ key: 'kept', effect: 'NoSchedule' }] });
    expect(node().status?.conditions?.[0]).toEqual(foreign);
    expect(node().status?.capacity).toEqual({ cpu: '2', memory: '1Gi', pods: '110', 'ephemeral-storage': '1Gi' });
    expect(conditionOf(node(), 'Ready')?.status).toBe('True');
    expect(events()).toContain('NodeHasSufficientMemory');
  });

  test('registers the node despite conflicts with another writer that creates and changes it', async () => {
    const { start, api, clock, node } = setUp();
    let conflicts = 3;
    api.fault = (method) => {
      if (method === 'createNode' && !api.nodes.has('n1')) api.putNode({ metadata: { name: 'n1', uid: 'u1' } });
      return method === 'patchNodeStatus' && conflicts-- > 0 ? Promise.reject(new ApiError('Conflict')) : undefined;
    };
    await start();
    await clock.advance(2_000);
    expect(node().metadata.uid).toBe('u1');
    expect(conditionOf(node(), 'Ready')?.status).toBe('True');
  });

  test('uses the node that another client created if creating is forbidden', async () => {
    const { start, api, node } = setUp();
    api.putNode({ metadata: { name: 'n1', uid: 'u1' } });
    api.fault = (method) => (method === 'createNode' ? Promise.reject(new ApiError('Forbidden')) : undefined);
    await start();
    expect(conditionOf(node(), 'Ready')?.status).toBe('True');
  });

  test('does not register the node with --register-node=false', async () => {
    const { start, api, clock, node } = setUp({ registerNode: false });
    await start();
    await clock.advance(ROUND_MS);
    expect(api.nodes.size).toBe(0);
    expect(api.count('createNode')).toBe(0);
    api.putNode({ metadata: { name: 'n1', uid: 'u1' } });
    await clock.advance(ROUND_MS);
    expect(conditionOf(node(), 'Ready')?.status).toBe('True');
  });

  test('registers the node again if it was deleted', async () => {
    const { start, api, clock, node } = setUp();
    await start();
    const uid = node().metadata.uid;
    api.nodes.clear();
    await clock.advance(ROUND_MS);
    expect(node().metadata.uid).not.toBe(uid);
    expect(conditionOf(node(), 'Ready')?.status).toBe('True');
    await clock.advance(ROUND_MS);
    expect(api.count('createNode')).toBe(2);
  });

  test('N6: registers the node immediately if another component finds that it is missing, even if a cache still has it', async () => {
    const { start, api, clock, node, manager } = setUp();
    await start();
    await clock.advance(ROUND_MS);
    const { uid } = node().metadata;
    api.cached = node();
    api.nodes.clear();
    manager.registerAgain();
    await clock.settle();
    expect(node().metadata.uid).not.toBe(uid);
  });

  test('does not create the node again if it is missing only in a cache', async () => {
    const { start, api, clock } = setUp();
    api.fault = (method) => (method === 'getCachedNode' ? Promise.reject(new ApiError('NotFound')) : undefined);
    await start();
    await clock.advance(3 * ROUND_MS);
    expect(api.count('createNode')).toBe(1);
  });

  test('does not write the status to a node that was deleted and recreated during the update', async () => {
    const { start, api, clock, host, node } = setUp();
    await start();
    api.cached = node();
    api.putNode({ metadata: { name: 'n1', uid: 'other', annotations: { theirs: 'kept' } } });
    host.pressure = { memory: true, disk: false, pid: false };
    await clock.advance(ROUND_MS);
    expect(node().metadata).toMatchObject({ uid: 'other', annotations: { theirs: 'kept' } });
    expect(conditionOf(node(), 'MemoryPressure')?.status).toBe('True');
  });
});

describe('two machines with the same node name', () => {
  test('two machines with different provider IDs and one node name are reported once', async () => {
    const { start, api, clock, manager, recorder, lines } = setUp({ providerId: 'cloud://mine' });
    api.putNode({ metadata: { name: 'n1', uid: 'u1' }, spec: { providerID: 'cloud://theirs' } });
    await start();
    await clock.advance(5 * ROUND_MS);
    expect(manager.conflict).toBe('the node has the provider ID "cloud://theirs", this machine has "cloud://mine"');
    const conflicts = recorder.eventsOf(nodeReference('n1')).filter(({ reason }) => reason === 'NodeNameConflict');
    expect(conflicts).toMatchObject([{ type: 'Warning', count: 1 }]);
    expect(lines.filter(({ message }) => message === 'Another machine uses the name of this node')).toHaveLength(1);
  });

  test('two machines that both write the status of one node are reported', async () => {
    const first = setUp();
    await first.start();
    const second = setUp({}, {}, { clock: first.clock, api: first.api });
    second.host.machine = { ...MACHINE, machineId: 'm2', systemUuid: 's2', bootId: 'b2' };
    await second.start();
    await first.clock.advance(3 * ROUND_MS);
    expect(first.manager.conflict).toContain('machineID m2 instead of m1');
    expect(second.manager.conflict).toContain('machineID m1 instead of m2');
  });

  test('a machine that replaces a removed machine is not reported as a second machine', async () => {
    const { start, api, clock, manager } = setUp();
    const gone = setUp({}, {}, { clock, api });
    gone.host.machine = { ...MACHINE, machineId: 'old', bootId: 'old' };
    await gone.start();
    for (const stop of running.splice(0)) await stop();
    const left = gone.node();
    await start();
    await clock.advance(3 * ROUND_MS);
    // A cache that lags behind shows the old machine: the manager reads from the server before it reports.
    api.cached = { ...left, metadata: { ...left.metadata, resourceVersion: 'older' } };
    await clock.advance(3 * ROUND_MS);
    expect(manager.conflict).toBeUndefined();
  });
});

describe('node status updates', () => {
  test('an unchanged node status is computed every 10 s and sent about every 5 min', async () => {
    const { start, api, clock } = setUp();
    await start();
    await clock.advance(1_000_000);
    expect(api.count('getCachedNode')).toBeGreaterThan(90);
    expect(api.patches.length).toBeGreaterThanOrEqual(3);
    expect(api.patches.length).toBeLessThanOrEqual(5);
    const last = api.patches.at(-1);
    expect(Object.keys(last?.status ?? {}).sort()).toEqual(['$setElementOrder/conditions', 'conditions']);
  });

  test.each<[string, (host: Host) => void, string, string]>([
    [
      'runtime state',
      (host) => (host.readiness = { runtimeErrors: ['container runtime is down'], networkErrors: [] }),
      'Ready',
      'False',
    ],
    ['disk pressure', (host) => (host.pressure = { memory: false, disk: true, pid: false }), 'DiskPressure', 'True'],
  ])('sends a change of the %s within a second, and only that change', async (_name, change, type, status) => {
    const { start, api, clock, host, node } = setUp();
    await start();
    await clock.advance(5_000);
    api.patches.length = 0;
    change(host);
    await clock.advance(1_000);
    expect(conditionOf(node(), type)?.status).toBe(status);
    expect(api.patches).toHaveLength(1);
    expect(Object.keys(api.patches[0]?.status ?? {}).sort()).toEqual(['$setElementOrder/conditions', 'conditions']);
  });

  test('reports an unavailable runtime every 10 s although its message contains the elapsed time', async () => {
    const { start, clock, host, api, node } = setUp();
    await start();
    await clock.advance(20_000);
    Object.defineProperty(host, 'readiness', {
      get: () => ({
        runtimeErrors: [
          `PLEG is not healthy: pleg was last seen active 3m${clock.monotonic() / 1000}s ago; threshold is 3m0s`,
        ],
        networkErrors: [],
      }),
    });
    const before = api.count('patchNodeStatus');
    await clock.advance(1100);
    expect(conditionOf(node(), 'Ready')).toMatchObject({
      status: 'False',
      message: expect.stringContaining('PLEG is not healthy'),
    });
    await clock.advance(60_000);
    const writes = api.count('patchNodeStatus') - before;
    expect(writes).toBeGreaterThanOrEqual(6);
    expect(writes).toBeLessThanOrEqual(7);
  });

  test('a wake-up sends the node status immediately, but at most ten times a second', async () => {
    const { start, api, clock, host, manager, node } = setUp();
    await start();
    await clock.advance(5_000);
    host.volumes = ['kubernetes.io/csi/x'];
    manager.wake();
    await clock.settle();
    expect(node().status?.volumesInUse).toEqual(['kubernetes.io/csi/x']);
    const before = api.count('getCachedNode');
    for (let i = 0; i < 1_000; i++) {
      manager.wake();
      await clock.advance(1);
    }
    expect(api.count('getCachedNode') - before).toBeLessThanOrEqual(11);
  });

  test('records events when the status was written, not when it was tried', async () => {
    const { start, api, clock, host, events } = setUp();
    await start();
    await clock.advance(5_000);
    api.fault = (method) => (method === 'patchNodeStatus' ? Promise.reject(new ApiError('InternalError')) : undefined);
    host.readiness = { runtimeErrors: ['container runtime is down'], networkErrors: [] };
    await clock.advance(5_000);
    expect(events()).not.toContain('NodeNotReady');
    api.fault = () => undefined;
    await clock.advance(ROUND_MS);
    expect(events().filter((reason) => reason === 'NodeNotReady')).toHaveLength(1);
  });

  test('a status update is tried five times without delay, and onRepeatedHeartbeatFailure is called from the second failure on', async () => {
    let bad = 0;
    const { start, api, clock, lines, host } = setUp({}, { onRepeatedHeartbeatFailure: () => void bad++ });
    await start();
    await clock.advance(5_000);
    api.calls.length = 0;
    api.fault = (method) => (method === 'patchNodeStatus' ? Promise.reject(new ApiError('InternalError')) : undefined);
    host.pressure = { memory: true, disk: false, pid: false };
    await clock.advance(2_000);
    expect(api.count('patchNodeStatus')).toBe(5);
    expect(api.calls.filter((call) => call.startsWith('get'))).toEqual(['getCachedNode', ...Array(4).fill('getNode')]);
    expect(bad).toBe(4);
    expect(lines.at(-1)).toMatchObject({ fields: { err: { code: 'UpdateFailed' } } });
  });

  test('sends the node status after the API server was down for an hour', async () => {
    const { start, api, clock, host, node } = setUp();
    await start();
    api.fault = () => Promise.reject(new Error('connection refused'));
    host.pressure = { memory: true, disk: false, pid: false };
    await clock.advance(3_600_000);
    api.fault = () => undefined;
    await clock.advance(ROUND_MS);
    expect(conditionOf(node(), 'MemoryPressure')?.status).toBe('True');
  });

  test('N6: sends the known status while reading machine info hangs, the API server is slow, and images cannot be listed', async () => {
    const { start, api, clock, host, node } = setUp({}, { onPodCidr: () => HANG });
    await start();
    await clock.advance(5_000);
    for (const source of ['machine', 'network', 'runtimeVersion', 'images', 'storage', 'check']) host.hung.add(source);
    update(api, (now) => ({ ...now, spec: { ...now.spec, podCIDRs: ['10.1.0.0/24'] } }));
    await clock.advance(120_000);
    host.pressure = { memory: true, disk: false, pid: false };
    await clock.advance(1_100);
    expect(conditionOf(node(), 'MemoryPressure')?.status).toBe('True');
    expect(node().status?.images).toEqual([{ names: ['a:1'], sizeBytes: 1 }]);
    expect(node().status?.capacity?.cpu).toBe('2');
    api.fault = (method) => (method === 'getCachedNode' ? HANG : undefined);
    host.pressure = { memory: false, disk: false, pid: false };
    await clock.advance(1_000 + 10_000);
    expect(conditionOf(node(), 'MemoryPressure')?.status).toBe('False');
  });

  test('the node status manager keeps its schedule if the wall clock jumps', async () => {
    const { start, api, clock, node } = setUp();
    await start();
    await clock.advance(1_000);
    const before = api.patches.length;
    clock.jumpWallClock(-86_400_000);
    await clock.advance(500_000);
    expect(api.patches.length).toBeGreaterThan(before);
    expect(conditionOf(node(), 'Ready')?.lastHeartbeatTime).toMatch(/^2025-12-31/);
    const after = api.patches.length;
    clock.jumpWallClock(2 * 86_400_000);
    await clock.advance(30_000);
    expect(api.patches.length - after).toBeLessThanOrEqual(1);
  });

  test('keeps conditions and annotations that other writers add between read and patch', async () => {
    const { start, api, clock, host, node } = setUp();
    await start();
    await clock.advance(5_000);
    const foreign = { type: 'GpuHealthy', status: 'True' };
    api.fault = (method) => {
      if (method === 'patchNodeStatus') {
        api.fault = () => undefined;
        update(api, (now) => ({
          ...now,
          metadata: { ...now.metadata, annotations: { ...now.metadata.annotations, theirs: 'x' } },
          status: { ...now.status, conditions: [foreign, ...(now.status?.conditions ?? [])] },
        }));
      }
      return undefined;
    };
    host.pressure = { memory: true, disk: false, pid: false };
    await clock.advance(1_000);
    expect(conditionOf(node(), 'MemoryPressure')?.status).toBe('True');
    expect(conditionOf(node(), 'GpuHealthy')).toEqual(foreign);
    expect(node().metadata.annotations?.theirs).toBe('x');
  });

  test('the same node status is not written twice if the cache is outdated', async () => {
    const { start, api, clock, host, node } = setUp();
    await start();
    await clock.advance(5_000);
    api.cached = node();
    api.patches.length = 0;
    host.pressure = { memory: true, disk: false, pid: false };
    await clock.advance(2 * ROUND_MS);
    expect(api.patches).toHaveLength(1);
  });

  test('a condition that changed and changed back is written twice, even if the cached Node lags and never showed the change', async () => {
    const { start, api, clock, host, node } = setUp();
    await start();
    await clock.advance(5_000);
    api.cached = node();
    for (const [memory, disk] of [
      [true, false],
      [true, true],
      [false, false],
    ] as const) {
      host.pressure = { memory, disk, pid: false };
      await clock.advance(2_000);
      const shown = ['MemoryPressure', 'DiskPressure'].map((type) => conditionOf(node(), type)?.status === 'True');
      expect(shown).toEqual([memory, disk]);
    }
  });

  test.each<[string, (parts: ReturnType<typeof setUp>) => Promise<void>]>([
    [
      'a write has failed, and the node was read from the API server before the next write',
      async ({ api, host, clock }) => {
        host.pressure = { memory: true, disk: false, pid: false };
        await clock.advance(2_000);
        let isRefused = false;
        api.fault = (method) => {
          if (method !== 'patchNodeStatus' || isRefused) return undefined;
          isRefused = true;
          return Promise.reject(new ApiError('InternalError'));
        };
        host.pressure = { memory: true, disk: true, pid: false };
        await clock.advance(2_000);
      },
    ],
    [
      'the cache only has a node that another client wrote before the last status write',
      async ({ api, host, clock }) => {
        api.fault = (method) => {
          if (method !== 'patchNodeStatus') return undefined;
          api.fault = () => undefined;
          const before = api.cached as Node;
          api.cached = api.putNode({ ...before, metadata: { ...before.metadata, annotations: { theirs: 'x' } } });
          return undefined;
        };
        host.pressure = { memory: true, disk: false, pid: false };
        await clock.advance(2_000);
      },
    ],
    [
      'the cache now comes from another API server that lags further behind',
      async ({ api, host, clock, node }) => {
        const old = api.cached;
        host.pressure = { memory: true, disk: false, pid: false };
        await clock.advance(2_000);
        api.cached = node();
        await clock.advance(ROUND_MS);
        api.cached = old;
      },
    ],
  ])('a condition that has changed back is written if %s', async (_how, happens) => {
    const parts = setUp();
    const { start, api, clock, host, node } = parts;
    await start();
    await clock.advance(5_000);
    api.cached = node();
    await happens(parts);
    expect(conditionOf(node(), 'MemoryPressure')?.status).toBe('True');
    host.pressure = { memory: false, disk: false, pid: false };
    await clock.advance(2_000);
    expect(conditionOf(node(), 'MemoryPressure')?.status).toBe('False');
  });
});

describe('the first status updates after a start', () => {
  test('the first status is sent after the runtime was checked, so that a restart does not report NotReady', async () => {
    const { start, host, api } = setUp();
    host.readiness = {
      runtimeErrors: ['container runtime status check may not have completed yet'],
      networkErrors: [],
    };
    host.onCheck = () => {
      host.readiness = { runtimeErrors: [], networkErrors: [] };
    };
    api.putNode({ metadata: { name: 'n1', uid: 'u1' }, status: { conditions: [{ type: 'Ready', status: 'True' }] } });
    await start();
    expect(conditionOf(api.nodes.get('n1') ?? { metadata: {} }, 'Ready')?.status).toBe('True');
    expect(host.checks).toBe(1);
    expect(JSON.stringify(api.patches)).not.toContain('KubeletNotReady');
  });

  test('keeps a node Ready for 10 s while its components start', async () => {
    const { start, host, clock, api, node } = setUp();
    api.putNode({ metadata: { name: 'n1', uid: 'u1' }, status: { conditions: [{ type: 'Ready', status: 'True' }] } });
    host.readiness = { runtimeErrors: ['PLEG is not healthy: pleg has yet to be successful'], networkErrors: [] };
    await start();
    await clock.advance(9_000);
    expect(conditionOf(node(), 'Ready')?.status).toBe('True');
    host.readiness = { runtimeErrors: [], networkErrors: [] };
    await clock.advance(300);
    expect(conditionOf(node(), 'Ready')).toMatchObject({ status: 'True', message: 'kubelet is posting ready status' });
    expect(JSON.stringify(api.patches)).not.toContain('NotReady');
  });

  test('a node that is not ready after the start is reported as NotReady with its reason after 10 s', async () => {
    const { start, host, clock, api, node } = setUp();
    api.putNode({ metadata: { name: 'n1', uid: 'u1' }, status: { conditions: [{ type: 'Ready', status: 'True' }] } });
    host.readiness = { runtimeErrors: ['container runtime is down'], networkErrors: [] };
    await start();
    await clock.advance(ROUND_MS);
    expect(conditionOf(node(), 'Ready')).toMatchObject({ status: 'False', message: 'container runtime is down' });
    host.readiness = { runtimeErrors: [], networkErrors: [] };
    await clock.advance(1_100);
    expect(conditionOf(node(), 'Ready')?.status).toBe('True');
    host.readiness = { runtimeErrors: ['container runtime is down'], networkErrors: [] };
    await clock.advance(1_100);
    expect(conditionOf(node(), 'Ready')?.status).toBe('False');
  });

  test('sends the first Ready within 200 ms of the runtime being ready', async () => {
    const { start, host, clock, node, events } = setUp();
    host.readiness = { runtimeErrors: [], networkErrors: ['network state unknown'] };
    await start();
    expect(conditionOf(node(), 'Ready')).toMatchObject({ status: 'False', message: 'network state unknown' });
    await clock.advance(3_333);
    host.onCheck = () => {
      host.readiness = { runtimeErrors: [], networkErrors: [] };
    };
    await clock.advance(200);
    expect(conditionOf(node(), 'Ready')?.status).toBe('True');
    expect(events()).toContain('NodeReady');
  });

  test('the first node status is sent once a source that threw errors at first works', async () => {
    const { start, host, clock, node, lines } = setUp();
    const { readiness } = host;
    Object.defineProperty(host, 'readiness', {
      configurable: true,
      get: () => {
        throw new Error('not made yet');
      },
    });
    await start();
    expect(lines.map(({ message }) => message)).toContain('Unable to compute the node status');
    Object.defineProperty(host, 'readiness', { value: readiness });
    await clock.advance(2_000);
    expect(conditionOf(node(), 'Ready')?.status).toBe('True');
  });

  test('sends fewer than 20 status updates in 25 s if the API server rejects them', async () => {
    const { start, clock, api, host } = setUp();
    host.readiness = { runtimeErrors: [], networkErrors: ['network state unknown'] };
    await start();
    api.fault = (method) => (method === 'patchNodeStatus' ? Promise.reject(new ApiError('InternalError')) : undefined);
    host.readiness = { runtimeErrors: [], networkErrors: [] };
    await clock.advance(25_000);
    expect(api.count('patchNodeStatus')).toBeGreaterThan(4);
    expect(api.count('patchNodeStatus')).toBeLessThan(20);
  });
});

describe('notifications to other components', () => {
  test('passes the pod CIDRs of the node to the runtime again only if the runtime rejected them', async () => {
    const cidrs: string[] = [];
    let failing = true;
    const onPodCidr = async (cidr: string): Promise<void> => {
      cidrs.push(cidr);
      if (failing) throw new Error('not now');
    };
    const { start, api, clock } = setUp({}, { onPodCidr });
    await start();
    update(api, (node) => ({ ...node, spec: { ...node.spec, podCIDRs: ['10.1.0.0/24', 'fd00::/64'] } }));
    await clock.advance(ROUND_MS);
    failing = false;
    await clock.advance(3 * ROUND_MS);
    expect(cidrs).toEqual(['10.1.0.0/24,fd00::/64', '10.1.0.0/24,fd00::/64']);
  });

  test('calls onVolumesReported with the volumes that the API server knows, even if no write was needed', async () => {
    const reported: (readonly string[])[] = [];
    const { start, clock, host } = setUp({}, { onVolumesReported: (names) => void reported.push(names) });
    host.volumes = ['a'];
    await start();
    await clock.advance(ROUND_MS);
    expect(reported.length).toBeGreaterThanOrEqual(2);
    expect(new Set(reported.flat())).toEqual(new Set(['a']));
  });

  test('K4: calls onDevicesReported once for removed devices, after the API server has stored their removal', async () => {
    const GPU = 'example.com/gpu';
    const reported: string[] = [];
    const { start, api, clock, host, node } = setUp(
      {},
      {
        onDevicesReported(removed) {
          reported.push(...removed);
          host.removed = [];
        },
      },
    );
    await start();
    update(api, (one) => ({ ...one, status: { ...one.status, capacity: { ...one.status?.capacity, [GPU]: '2' } } }));
    host.removed = [GPU];
    api.fault = (method) => (method === 'patchNodeStatus' ? Promise.reject(new ApiError('InternalError')) : undefined);
    await clock.advance(ROUND_MS);
    expect([reported, node().status?.capacity?.[GPU]]).toEqual([[], '2']);
    api.fault = () => undefined;
    await clock.advance(ROUND_MS);
    expect([reported, node().status?.capacity?.[GPU]]).toEqual([[GPU], '0']);
    update(api, (one) => ({ ...one, status: { ...one.status, capacity: { ...one.status?.capacity, [GPU]: '5' } } }));
    await clock.advance(2 * ROUND_MS);
    expect(node().status?.capacity?.[GPU]).toBe('5');
  });

  test('records an event when the node is cordoned and uncordoned', async () => {
    const { start, api, clock, events } = setUp();
    await start();
    for (const unschedulable of [true, false]) {
      update(api, (node) => ({ ...node, spec: { ...node.spec, unschedulable } }));
      await clock.advance(2 * ROUND_MS);
    }
    expect(events().slice(-2)).toEqual(['NodeNotSchedulable', 'NodeSchedulable']);
  });

  test('localNode computes the node status without an API server', async () => {
    const { manager, api } = setUp({ nodeLabels: { rack: 'r1' } });
    const node = await manager.localNode(new AbortController().signal);
    expect(node.metadata.labels?.rack).toBe('r1');
    expect(node.status?.allocatable?.memory).toBe('1Gi');
    expect(api.calls).toEqual([]);
  });

  test('a stopped node status manager leaves no timers', async () => {
    const { start, clock } = setUp();
    await start();
    await clock.advance(25_000);
    for (const stop of running.splice(0)) await stop();
    expect(clock.pendingTimers).toBe(0);
  });
});
