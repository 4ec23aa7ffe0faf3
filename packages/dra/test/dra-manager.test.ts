import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { FakeClock } from '@node-agent/async/testing';
import { MemorySockets } from '@node-agent/grpc/testing';
import { nodeFileSystem } from '@node-agent/host';
import type { Pod } from '@node-agent/pod-spec';
import { MetricsRegistry, silentLogger } from '@node-agent/telemetry';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { decodeCheckpoint } from '../src/checkpoint-format.ts';
import { DraManager, type DraManagerComponents, type DraManagerOptions, type ResourceClaim } from '../src/index.ts';
import { FakeDraPlugin, type FakeDraPluginOptions } from '../src/testing.ts';
import { claimOf, containerOf, DRIVER, deviceOf, podOf, podWithClaim } from './builders.ts';

let root: string;
let clock: FakeClock;
let claims: Map<string, ResourceClaim>;
let active: Pod[];
let mayRun: Set<string>;
let sourcesReady: boolean;
let removals: (string | undefined)[];
let unwell: string[];
let unprepared: string[];
let waits: string[];
let metrics: MetricsRegistry;
/** Whether the connection to each plugin is established, by the plugin's socket. */
let connected: Map<string, boolean>;
let stop: AbortController;
let running: Promise<void>;
let manager: DraManager;
let plugins: FakeDraPlugin[];
const signal = new AbortController().signal;

beforeEach(() => {
  root = fs.mkdtempSync(path.join(os.tmpdir(), 'dra-'));
  clock = new FakeClock();
  claims = new Map();
  active = [];
  mayRun = new Set();
  sourcesReady = true;
  removals = [];
  unwell = [];
  unprepared = [];
  waits = [];
  plugins = [];
  connected = new Map();
});

afterEach(async () => {
  stop.abort();
  await running;
  for (const plugin of plugins) plugin.stop();
  await fs.promises.rm(root, { recursive: true, maxRetries: 10 });
});

async function start(
  components: Partial<DraManagerComponents> = {},
  options: Partial<DraManagerOptions> = {},
): Promise<void> {
  stop = new AbortController();
  metrics = new MetricsRegistry();
  manager = new DraManager(
    {
      ...{ clock, metrics, fs: nodeFileSystem },
      logger: {
        ...silentLogger,
        info: ({ endpoint, isConnected }: { readonly endpoint?: string; readonly isConnected?: boolean }) => {
          if (endpoint !== undefined && isConnected !== undefined) connected.set(endpoint, isConnected);
        },
      },
      claims: { get: async (_namespace, name) => claims.get(name) },
      slices: { remove: async (driver) => void removals.push(driver) },
      pods: { active: () => active, mayRun: (uid) => mayRun.has(uid), sourcesReady: () => sourcesReady },
      noted: (wait, work) => {
        waits.push(`${wait.podUid} ${wait.step}: ${wait.what ?? ''}`);
        return work();
      },
      onHealthChanged: (uids) => unwell.push(...uids),
      onUnprepared: (uid) => unprepared.push(uid),
      ...components,
    },
    { directory: root, ...options },
  );
  running = manager.start(stop.signal);
}

/** Restarts the manager as after `kill -9`: the files on disk are kept. */
async function restart(): Promise<void> {
  stop.abort();
  await running;
  await start();
}

/** Starts to prepare the claim `old` of pod 1 for the device `gpu-0`, with a driver that does not answer and then ends. */
async function interruptPreparation(): Promise<void> {
  const socketPath = path.join(root, 'driver.sock');
  await start();
  const plugin = await plug({ socketPath, prepare: () => new Promise(() => {}) });
  allocate('old', ['1'], [deviceOf('gpu-0')]);
  manager.prepare(podWithClaim('1', 'old'), signal)?.catch(() => {});
  await expect.poll(() => plugin.calls.length).toBe(1);
  plugin.stop();
}

async function plug(options: Partial<FakeDraPluginOptions> = {}, driver = DRIVER): Promise<FakeDraPlugin> {
  const socketPath = path.join(root, `${driver}-${plugins.length}.sock`);
  const plugin = new FakeDraPlugin({ socketPath, ...options });
  plugins.push(plugin);
  await plugin.start();
  register(plugin, driver);
  return plugin;
}

function register(plugin: FakeDraPlugin, driver = DRIVER, services = ['v1.DRAPlugin']): void {
  expect(manager.validatePlugin(driver, plugin.socketPath, services)).toBeUndefined();
  manager.registerPlugin(driver, plugin.socketPath, services);
}

/** Adds an allocated claim, by default with one device, that is reserved for the given pods. */
function allocate(name: string, podUids: readonly string[], devices = [deviceOf(`device-of-${name}`)]): ResourceClaim {
  const claim = claimOf(name, devices, podUids);
  claims.set(name, claim);
  return claim;
}

async function idsOf(pod: Pod): Promise<readonly string[]> {
  const [container] = pod.spec.containers;
  return await manager.cdiDevices(pod, container ?? containerOf('none'));
}

const callsOf = (plugin: FakeDraPlugin): readonly string[] =>
  plugin.calls.map(({ rpc, claims: names }) => `${rpc} ${names.join()}`);

const stored = () => decodeCheckpoint(fs.readFileSync(path.join(root, 'dra_manager_state'), 'utf8'));

const metricLines = (name: string): readonly string[] =>
  metrics
    .text()
    .split('\n')
    .filter((line) => line.startsWith(name));

describe('preparing claims', () => {
  it('the driver of a claim is called once, the container gets its CDI devices, and the claim is unprepared when the pod has stopped', async () => {
    await start();
    const plugin = await plug();
    allocate('a', ['1']);
    const pod = podWithClaim('1', 'a');
    await manager.prepare(pod, signal);
    await manager.prepare(pod, signal);
    expect(callsOf(plugin)).toEqual(['NodePrepareResources a']);
    expect(await idsOf(pod)).toEqual(['example.com/fake=a']);
    expect(stored()).toMatchObject([{ name: 'a', podUids: new Set(['1']), uid: 'uid-a' }]);
    expect(manager.holdsClaims('1', pod)).toBe(true);
    expect(metricLines('dra_resource_claims_in_use{')).toEqual([
      'dra_resource_claims_in_use{driver_name="<any>"} 1',
      `dra_resource_claims_in_use{driver_name="${DRIVER}"} 1`,
    ]);
    await manager.unprepare(pod, signal);
    await manager.unprepare(pod, signal);
    expect(callsOf(plugin)).toEqual(['NodePrepareResources a', 'NodeUnprepareResources a']);
    expect(stored()).toEqual([]);
    expect(manager.holdsClaims('1', pod)).toBe(false);
    expect(metricLines('dra_resource_claims_in_use{')).toEqual(['dra_resource_claims_in_use{driver_name="<any>"} 0']);
    expect(metricLines('dra_operations_duration_seconds_count')).toEqual([
      'dra_operations_duration_seconds_count{operation_name="PrepareResources",is_error="false"} 2',
      'dra_operations_duration_seconds_count{operation_name="UnprepareResources",is_error="false"} 2',
    ]);
    expect(metricLines('dra_grpc_operations_duration_seconds_count')).toEqual([
      `dra_grpc_operations_duration_seconds_count{driver_name="${DRIVER}",method_name="/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/NodePrepareResources",grpc_status_code="OK"} 1`,
      `dra_grpc_operations_duration_seconds_count{driver_name="${DRIVER}",method_name="/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/NodeUnprepareResources",grpc_status_code="OK"} 1`,
    ]);
  });

  it('prepare and unprepare return synchronously without a driver call for a pod without claims', async () => {
    await start();
    const pod = podOf('1');
    expect(manager.prepare(pod, signal)).toBeUndefined();
    expect(manager.unprepare(pod, signal)).toBeUndefined();
    expect(manager.cdiDevices(pod, containerOf('main'))).toEqual([]);
    expect(manager.holdsClaims('1', pod)).toBe(false);
  });

  it('each driver gets all claims of a pod in one call', async () => {
    await start();
    const [gpus, nics] = [await plug(), await plug({}, 'nic.example.com')];
    allocate('a', ['1'], [deviceOf('gpu-0'), deviceOf('nic-0', { driver: 'nic.example.com' })]);
    allocate('b', ['1'], [deviceOf('gpu-1')]);
    const resourceClaims = ['a', 'b'].map((name) => ({ name, resourceClaimName: name }));
    await manager.prepare(podOf('1', { resourceClaims }), signal);
    expect([callsOf(gpus), callsOf(nics)]).toEqual([['NodePrepareResources a,b'], ['NodePrepareResources a']]);
    const places = `${DRIVER} at ${gpus.socketPath}, nic.example.com at ${nics.socketPath}`;
    expect(waits).toEqual(['1 prepare: ', `1 prepare: NodePrepareResources of ${places}`]);
  });

  it('a driver that registered with v1beta1 is called through the v1beta1 service', async () => {
    await start();
    const plugin = new FakeDraPlugin({ socketPath: path.join(root, 'old.sock'), versions: ['v1beta1'] });
    plugins.push(plugin);
    await plugin.start();
    register(plugin, DRIVER, ['v1beta1.DRAPlugin']);
    allocate('a', ['1']);
    const pod = podWithClaim('1', 'a');
    await manager.prepare(pod, signal);
    await manager.unprepare(pod, signal);
    expect(plugin.calls.map(({ version }) => version)).toEqual(['v1beta1', 'v1beta1']);
  });

  it.each<readonly [string, () => Pod, string]>([
    [
      'a claim that does not exist',
      () => podWithClaim('1', 'none'),
      'fetch ResourceClaim none: resourceclaims.resource.k8s.io "none" not found',
    ],
    [
      'a claim that is reserved for another pod',
      () => {
        allocate('a', ['2']);
        return podWithClaim('1', 'a');
      },
      'pod pod-1 (1) is not allowed to use ResourceClaim a (uid-a)',
    ],
    [
      'a driver that is not registered',
      () => {
        allocate('a', ['1'], [deviceOf('x', { driver: 'other.example.com' })]);
        return podWithClaim('1', 'a');
      },
      'DRA driver other.example.com is not registered',
    ],
  ])('prepare rejects %s and does not record the pod for the claim: $2', async (_, make, message) => {
    await start();
    const plugin = await plug();
    await expect(manager.prepare(make(), signal)).rejects.toThrow(`prepare dynamic resources: ${message}`);
    expect(plugin.calls).toEqual([]);
    expect(manager.holdsClaims('1', undefined)).toBe(false);
  });

  it('the error of prepare contains the error of the API server', async () => {
    await start({
      claims: {
        get: async () => {
          throw new Error('connection refused');
        },
      },
    });
    const message = 'prepare dynamic resources: fetch ResourceClaim a: connection refused';
    await expect(manager.prepare(podWithClaim('1', 'a'), signal)).rejects.toThrow(message);
  });

  it('a failed driver call is repeated, without a call of the drivers that have prepared the claim', async () => {
    await start();
    let tries = 0;
    const flaky = async () => (++tries < 3 ? { error: 'not now' } : { devices: [] });
    const gpus = await plug();
    await plug({ prepare: flaky }, 'nic.example.com');
    allocate('a', ['1'], [deviceOf('gpu-0'), deviceOf('nic-0', { driver: 'nic.example.com' })]);
    const pod = podWithClaim('1', 'a');
    const message = 'prepare dynamic resources: NodePrepareResources failed for ResourceClaim a: not now';
    await expect(manager.prepare(pod, signal)).rejects.toThrow(message);
    await expect(manager.prepare(pod, signal)).rejects.toThrow(message);
    await manager.prepare(pod, signal);
    expect([gpus.calls.length, tries]).toEqual([1, 3]);
    expect(await idsOf(pod)).toEqual(['example.com/fake=a']);
    expect(stored()[0]?.drivers.get(DRIVER)).toHaveLength(1);
  });

  it('no driver is called while the checkpoint cannot be written', async () => {
    let isFull = true;
    const writeFileAtomic: typeof nodeFileSystem.writeFileAtomic = async (...args) => {
      if (isFull) throw new Error('no space left on device');
      await nodeFileSystem.writeFileAtomic(...args);
    };
    await start({ fs: { ...filesOf(), writeFileAtomic } });
    const plugin = await plug();
    allocate('a', ['1']);
    const pod = podWithClaim('1', 'a');
    await expect(manager.prepare(pod, signal)).rejects.toMatchObject({ code: 'CheckpointNotWritten' });
    expect(plugin.calls).toEqual([]);
    expect(manager.holdsClaims('1', pod)).toBe(false);
    isFull = false;
    await manager.prepare(pod, signal);
    isFull = true;
    await expect(manager.unprepare(pod, signal)).rejects.toMatchObject({ code: 'CheckpointNotWritten' });
    expect(stored()).toHaveLength(1);
    isFull = false;
    await manager.unprepare(pod, signal);
    expect(stored()).toEqual([]);
  });

  it('W6: a driver that hangs delays only its own pods, for at most 45 s', async () => {
    await start();
    await plug({ prepare: (_claim, late) => new Promise((_, reject) => late.addEventListener('abort', reject)) });
    await plug({}, 'nic.example.com');
    allocate('a', ['1']);
    allocate('b', ['2'], [deviceOf('nic-0', { driver: 'nic.example.com' })]);
    const hung = manager.prepare(podWithClaim('1', 'a'), signal);
    const outcome = expect(hung).rejects.toThrow(
      'prepare dynamic resources: NodePrepareResources: rpc error: code = DeadlineExceeded desc = context deadline exceeded',
    );
    await expect.poll(() => plugins[0]?.calls.length).toBe(1);
    await manager.prepare(podWithClaim('2', 'b'), signal);
    await clock.advance(44_999);
    expect(await Promise.race([hung?.catch(() => 'failed'), Promise.resolve('waits')])).toBe('waits');
    await clock.advance(1);
    await outcome;
  });

  it('N11: a claim whose driver process dies during the prepare call is prepared by the next process', async () => {
    await start();
    const first = await plug({
      prepare: (_claim, late) => new Promise((_, reject) => late.addEventListener('abort', reject)),
    });
    allocate('a', ['1']);
    const pod = podWithClaim('1', 'a');
    const outcome = expect(manager.prepare(pod, signal)).rejects.toThrow('NodePrepareResources: rpc error: code =');
    await expect.poll(() => first.calls.length).toBe(1);
    // The driver may have prepared the claim. Therefore the claim is in the checkpoint, and its device is given to no
    // other claim.
    expect(stored()).toMatchObject([{ podUids: new Set(['1']) }]);
    first.stop();
    await outcome;
    manager.deregisterPlugin(DRIVER, first.socketPath);
    allocate('b', ['2'], [deviceOf('device-of-a')]);
    const next = await plug();
    await expect(manager.prepare(podWithClaim('2', 'b'), signal)).rejects.toThrow();
    await manager.prepare(pod, signal);
    expect(callsOf(next)).toEqual(['NodePrepareResources a']);
    expect(await idsOf(pod)).toEqual(['example.com/fake=a']);
  });

  it('K1: a kubelet that is killed after the checkpoint was written prepares the claim after its restart', async () => {
    await start();
    const hung = await plug({
      prepare: (_claim, late) => new Promise((_, reject) => late.addEventListener('abort', reject)),
    });
    allocate('a', ['1']);
    const pod = podWithClaim('1', 'a');
    active = [pod];
    manager.prepare(pod, signal)?.catch(() => {});
    await expect.poll(() => hung.calls.length).toBe(1);
    const file = fs.readFileSync(path.join(root, 'dra_manager_state'));
    hung.stop();
    await restart();
    fs.writeFileSync(path.join(root, 'dra_manager_state'), file);
    const next = await plug();
    await manager.prepare(pod, signal);
    expect(callsOf(next)).toEqual(['NodePrepareResources a']);
    expect(await idsOf(pod)).toEqual(['example.com/fake=a']);
  });

  it('a driver call is aborted when the pod must terminate', async () => {
    await start();
    await plug({ prepare: (_claim, late) => new Promise((_, reject) => late.addEventListener('abort', reject)) });
    allocate('a', ['1']);
    const killed = new AbortController();
    const preparing = manager.prepare(podWithClaim('1', 'a'), killed.signal);
    await expect.poll(() => plugins[0]?.calls.length).toBe(1);
    killed.abort(new Error('pod is deleted'));
    await expect(preparing).rejects.toThrow('pod is deleted');
  });
});

describe('W6: claims of a driver that hangs', () => {
  const NIC = 'nic.example.com';
  const hang = (): Promise<never> => new Promise(() => {});
  const podOfClaims = (uid: string, names: readonly string[]): Pod =>
    podOf(uid, { resourceClaims: names.map((name) => ({ name, resourceClaimName: name })) });

  /** Starts pods, each with a claim of a driver that hangs, and with the claim `net` of another driver. */
  async function startPodsThatWait(hung: FakeDraPlugin, uids: readonly string[]): Promise<void> {
    for (const uid of uids) {
      allocate(`gpu${uid}`, [uid], [deviceOf(`gpu-${uid}`)]);
      manager.prepare(podOfClaims(uid, [`gpu${uid}`, 'net']), signal)?.catch(() => {});
    }
    await expect.poll(() => hung.calls.length).toBe(uids.length);
  }

  it('W6: a pod starts that shares a claim of a healthy driver with pods that wait for a hung driver', async () => {
    await start();
    const gpus = await plug({ prepare: hang });
    const nics = await plug({}, NIC);
    allocate('net', ['1', '2', '3', '4'], [deviceOf('nic-0', { driver: NIC })]);
    await startPodsThatWait(gpus, ['1', '2', '3']);
    await manager.prepare(podWithClaim('4', 'net'), signal);
    expect(await idsOf(podWithClaim('4', 'net'))).toEqual(['example.com/fake=net']);
    expect(callsOf(nics)).toEqual(['NodePrepareResources net']);
  });

  it('W6: a pod terminates that shares a claim of a healthy driver with a pod that waits for a hung driver', async () => {
    await start();
    const gpus = await plug({ prepare: hang });
    const nics = await plug({}, NIC);
    allocate('net', ['1', '2'], [deviceOf('nic-0', { driver: NIC })]);
    await manager.prepare(podWithClaim('2', 'net'), signal);
    await startPodsThatWait(gpus, ['1']);
    await manager.unprepare(podWithClaim('2', 'net'), signal);
    expect(manager.holdsClaims('2', undefined)).toBe(false);
    expect(nics.prepared.has('uid-net')).toBe(true);
    expect(stored().find(({ name }) => name === 'net')?.podUids).toEqual(new Set(['1']));
  });

  it('W6: a claim of a healthy driver does not wait for another claim of the same pod that has devices of a hung driver too', async () => {
    await start();
    await plug({ prepare: hang });
    const nics = await plug({}, NIC);
    allocate('both', ['1'], [deviceOf('gpu-0'), deviceOf('nic-0', { driver: NIC })]);
    allocate('net', ['1', '2'], [deviceOf('nic-1', { driver: NIC })]);
    manager.prepare(podOfClaims('1', ['both', 'net']), signal)?.catch(() => {});
    await expect.poll(() => nics.calls.length).toBe(1);
    await manager.prepare(podWithClaim('2', 'net'), signal);
    expect(callsOf(nics)).toEqual(['NodePrepareResources both,net']);
  });

  it('W6: a pod whose claim has devices of two drivers waits for both', async () => {
    await start();
    const gate = Promise.withResolvers<void>();
    const gpus = await plug({
      prepare: async () => {
        await gate.promise;
        return { devices: [{ deviceName: 'gpu-0', cdiDeviceIds: ['example.com/gpu=0'] }] };
      },
    });
    const nics = await plug({}, NIC);
    allocate('both', ['1', '2'], [deviceOf('gpu-0'), deviceOf('nic-0', { driver: NIC })]);
    const ready: string[] = [];
    const starting = ['1', '2'].map((uid) =>
      manager.prepare(podWithClaim(uid, 'both'), signal)?.then(() => ready.push(uid)),
    );
    await expect.poll(() => [gpus.calls.length, nics.calls.length]).toEqual([1, 1]);
    expect(ready).toEqual([]);
    gate.resolve();
    await Promise.all(starting);
    expect([...callsOf(gpus), ...callsOf(nics)]).toEqual(['NodePrepareResources both', 'NodePrepareResources both']);
    expect(stored()[0]?.drivers.get(DRIVER)).toHaveLength(1);
  });

  it('W6: of two claims that terminate with a pod, the claim of the healthy driver is free for another pod at once', async () => {
    await start();
    await plug({ unprepare: hang });
    const nics = await plug({}, NIC);
    allocate('gpu', ['1'], [deviceOf('gpu-0')]);
    allocate('net', ['1', '2'], [deviceOf('nic-0', { driver: NIC })]);
    const pod = podOfClaims('1', ['gpu', 'net']);
    await manager.prepare(pod, signal);
    manager.unprepare(pod, signal)?.catch(() => {});
    await expect.poll(() => nics.prepared.size).toBe(0);
    await manager.prepare(podWithClaim('2', 'net'), signal);
    expect(nics.prepared.has('uid-net')).toBe(true);
  });
});

describe('N11: devices of claims', () => {
  /** Records a pod for its claim, and aborts the driver call. */
  async function abortedPrepare(pod: Pod): Promise<void> {
    const ending = new AbortController();
    const starting = manager.prepare(pod, ending.signal);
    await expect.poll(() => manager.holdsClaims(pod.metadata.uid, undefined)).toBe(true);
    ending.abort(new Error('pod is deleted'));
    await expect(starting).rejects.toThrow('pod is deleted');
  }

  it('N11: a claim that another pod used during the call is unprepared before its last pod has terminated', async () => {
    await start();
    const [preparing, unpreparing] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const gpus = await plug({
      unprepare: async () => {
        await unpreparing.promise;
        return {};
      },
    });
    const nics = await plug(
      {
        prepare: async () => {
          await preparing.promise;
          return { devices: [] };
        },
      },
      'nic.example.com',
    );
    allocate('both', ['1', '2', '3'], [deviceOf('gpu-0'), deviceOf('nic-0', { driver: 'nic.example.com' })]);
    const [first, last, guest] = ['1', '2', '3'].map((uid) => podWithClaim(uid, 'both')) as [Pod, Pod, Pod];
    const begun = manager.prepare(first, signal);
    await expect.poll(() => [gpus.calls.length, nics.calls.length]).toEqual([1, 1]);
    // Pod 2 waits for the call for pod 1. Then both terminate, so that unpreparing for pod 2 waits for that call too.
    await abortedPrepare(last);
    await manager.unprepare(first, signal);
    let isTerminated = false;
    const ending = manager.unprepare(last, signal)?.then(() => {
      isTerminated = true;
    });
    await expect.poll(() => gpus.calls.length).toBe(2);
    // Pod 3 uses the claim when the turn of pod 2 comes, and has terminated when the other driver answers.
    const guestEnding = new AbortController();
    const guestStarting = manager.prepare(guest, guestEnding.signal)?.catch(() => 'aborted');
    await expect.poll(() => manager.holdsClaims('3', undefined)).toBe(true);
    preparing.resolve();
    await begun;
    guestEnding.abort(new Error('pod is deleted'));
    expect(await guestStarting).toBe('aborted');
    await manager.unprepare(guest, signal);
    expect(callsOf(nics)).toEqual(['NodePrepareResources both']);
    expect(isTerminated).toBe(false);
    unpreparing.resolve();
    await ending;
    expect(callsOf(nics)).toEqual(['NodePrepareResources both', 'NodeUnprepareResources both']);
    expect(manager.holdsClaims('2', undefined)).toBe(false);
  });

  it('N11: a prepared claim stays recorded if its last pod stops while another pod cannot be stored for the claim', async () => {
    const gate = Promise.withResolvers<void>();
    let isFull = false;
    const writeFileAtomic: typeof nodeFileSystem.writeFileAtomic = async (...args) => {
      if (!isFull) return await nodeFileSystem.writeFileAtomic(...args);
      await gate.promise;
      throw new Error('no space left on device');
    };
    await start({ fs: { ...filesOf(), writeFileAtomic } });
    const plugin = await plug();
    allocate('a', ['1', '2']);
    await manager.prepare(podWithClaim('1', 'a'), signal);
    isFull = true;
    const starting = manager.prepare(podWithClaim('2', 'a'), signal);
    await expect.poll(() => manager.holdsClaims('2', undefined)).toBe(true);
    const ending = manager.unprepare(podWithClaim('1', 'a'), signal);
    const outcomes = Promise.allSettled([starting, ending]);
    gate.resolve();
    expect((await outcomes).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    isFull = false;
    expect([manager.holdsClaims('1', undefined), manager.holdsClaims('2', undefined)]).toEqual([false, true]);
    await manager.unprepare(podWithClaim('1', 'a'), signal);
    await manager.unprepare(podWithClaim('2', 'a'), signal);
    expect(callsOf(plugin)).toEqual(['NodePrepareResources a', 'NodeUnprepareResources a']);
    expect(stored()).toEqual([]);
  });

  it('N11: a shared claim stays prepared until its last pod has stopped', async () => {
    await start();
    const plugin = await plug();
    allocate('a', ['1', '2']);
    const [one, two] = [podWithClaim('1', 'a'), podWithClaim('2', 'a')];
    await Promise.all([manager.prepare(one, signal), manager.prepare(two, signal)]);
    expect(callsOf(plugin)).toEqual(['NodePrepareResources a']);
    await manager.unprepare(one, signal);
    expect(plugin.prepared.has('uid-a')).toBe(true);
    expect(stored()).toMatchObject([{ podUids: new Set(['2']) }]);
    await manager.unprepare(two, signal);
    expect(plugin.prepared.size).toBe(0);
  });

  it('N11: a running pod keeps its claim if a pod terminates whose use of the claim was rejected', async () => {
    await start();
    const plugin = await plug();
    allocate('a', ['1']);
    await manager.prepare(podWithClaim('1', 'a'), signal);
    const stranger = podWithClaim('2', 'a');
    await expect(manager.prepare(stranger, signal)).rejects.toThrow('is not allowed to use ResourceClaim a');
    await manager.unprepare(stranger, signal);
    expect(plugin.prepared.has('uid-a')).toBe(true);
    expect(await idsOf(podWithClaim('1', 'a'))).toEqual(['example.com/fake=a']);
    await expect(idsOf(stranger)).rejects.toMatchObject({
      code: 'NotPrepared',
      message: 'internal error: unable to get claim info for ResourceClaim a in namespace default',
    });
  });

  it('N11: a shared claim is prepared again for a pod that starts while the claim is being unprepared for another pod', async () => {
    await start();
    const gate = Promise.withResolvers<void>();
    const plugin = await plug({
      unprepare: async () => {
        await gate.promise;
        return {};
      },
    });
    allocate('a', ['1', '2']);
    await manager.prepare(podWithClaim('1', 'a'), signal);
    const ending = manager.unprepare(podWithClaim('1', 'a'), signal);
    await expect.poll(() => plugin.calls.length).toBe(2);
    const starting = manager.prepare(podWithClaim('2', 'a'), signal);
    gate.resolve();
    await Promise.all([ending, starting]);
    expect(callsOf(plugin).at(-1)).toBe('NodePrepareResources a');
    expect(plugin.prepared.has('uid-a')).toBe(true);
  });

  it('N11: a claim is prepared again after a failed unprepare call', async () => {
    await start();
    let fails = true;
    const plugin = await plug({ unprepare: async () => (fails ? { error: 'busy' } : {}) });
    allocate('a', ['1', '2']);
    await manager.prepare(podWithClaim('1', 'a'), signal);
    await expect(manager.unprepare(podWithClaim('1', 'a'), signal)).rejects.toThrow(
      'unprepare dynamic resources: NodeUnprepareResources failed for ResourceClaim a: busy',
    );
    await manager.prepare(podWithClaim('2', 'a'), signal);
    expect(callsOf(plugin)).toEqual(['NodePrepareResources a', 'NodeUnprepareResources a', 'NodePrepareResources a']);
    fails = false;
    await manager.unprepare(podWithClaim('1', 'a'), signal);
    expect(plugin.prepared.has('uid-a')).toBe(true);
  });

  it('N11: a device is refused to a claim while another claim holds the device', async () => {
    await start();
    await plug();
    allocate('old', ['1'], [deviceOf('gpu-0')]);
    await manager.prepare(podWithClaim('1', 'old'), signal);
    allocate('new', ['2'], [deviceOf('gpu-0')]);
    const next = podWithClaim('2', 'new');
    const message = `ResourceClaim new: device ${DRIVER}/node/gpu-0 is still used by ResourceClaim default/old`;
    await expect(manager.prepare(next, signal)).rejects.toMatchObject({
      code: 'DeviceInUse',
      message: `prepare dynamic resources: ${message}`,
    });
    await manager.unprepare(podWithClaim('1', 'old'), signal);
    await manager.prepare(next, signal);
  });

  it('N11: of two pods that start at the same time with claims on the same device, only one gets the device', async () => {
    await start();
    const plugin = await plug();
    allocate('a', ['1'], [deviceOf('gpu-0')]);
    allocate('b', ['2'], [deviceOf('gpu-0')]);
    const outcomes = await Promise.allSettled([
      manager.prepare(podWithClaim('1', 'a'), signal),
      manager.prepare(podWithClaim('2', 'b'), signal),
    ]);
    expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    expect(plugin.prepared.size).toBe(1);
  });

  it('N11: a recreated claim is refused while a claim of the same name and another UID is in use', async () => {
    await start();
    await plug();
    allocate('a', ['1']);
    await manager.prepare(podWithClaim('1', 'a'), signal);
    claims.set('a', claimOf('a', [deviceOf('other')], ['2'], { uid: 'uid-2' }));
    const message =
      'prepare dynamic resources: old ResourceClaim with same name a and different UID uid-a still exists (previous pod force-deleted?!)';
    await expect(manager.prepare(podWithClaim('2', 'a'), signal)).rejects.toThrow(message);
  });

  it('N11: after a restart, whether a claim holds a device with admin access is read from the API server', async () => {
    const socketPath = path.join(root, 'driver.sock');
    const device = { poolName: 'node', deviceName: 'gpu-0', cdiDeviceIds: [] };
    await start();
    await plug({ socketPath, prepare: async () => ({ devices: [device] }) });
    allocate('admin', ['1'], [deviceOf('gpu-0', { adminAccess: true })]);
    await manager.prepare(podWithClaim('1', 'admin'), signal);
    await restart();
    for (const plugin of plugins) register(plugin);
    allocate('user', ['2'], [deviceOf('gpu-0')]);
    await manager.prepare(podWithClaim('2', 'user'), signal);
    await restart();
    for (const plugin of plugins) register(plugin);
    claims.delete('user');
    allocate('next', ['3'], [deviceOf('gpu-0')]);
    await expect(manager.prepare(podWithClaim('3', 'next'), signal)).rejects.toMatchObject({ code: 'DeviceInUse' });
  });

  it('N11: after a restart, a claim whose preparation was interrupted holds its device until the claim is unprepared', async () => {
    await interruptPreparation();
    await restart();
    await plug();
    allocate('new', ['2'], [deviceOf('gpu-0')]);
    const next = podWithClaim('2', 'new');
    await expect(manager.prepare(next, signal)).rejects.toMatchObject({ code: 'DeviceInUse' });
    await manager.unprepare(podWithClaim('1', 'old'), signal);
    await manager.prepare(next, signal);
  });

  /** Prepares the claim `old` of pod 1 for two devices, of which the driver lists one, and restarts the kubelet. */
  async function restartWithUnlisted(components: Partial<DraManagerComponents> = {}): Promise<FakeDraPlugin> {
    await start();
    const listed = { poolName: 'node', deviceName: 'gpu-0', cdiDeviceIds: ['example.com/gpu=both'] };
    const plugin = await plug({ prepare: async () => ({ devices: [listed] }) });
    allocate('old', ['1'], [deviceOf('gpu-0'), deviceOf('gpu-1')]);
    await manager.prepare(podWithClaim('1', 'old'), signal);
    stop.abort();
    await running;
    await start(components);
    register(plugin);
    plugin.calls.length = 0;
    return plugin;
  }

  it('N11: after a restart, a device that the driver did not list is refused to another claim', async () => {
    const plugin = await restartWithUnlisted();
    allocate('new', ['2'], [deviceOf('gpu-1')]);
    const message = `device ${DRIVER}/node/gpu-1 is still used by ResourceClaim default/old`;
    await expect(manager.prepare(podWithClaim('2', 'new'), signal)).rejects.toThrow(message);
    expect(plugin.calls).toEqual([]);
    allocate('free', ['3'], [deviceOf('gpu-2')]);
    await manager.prepare(podWithClaim('3', 'free'), signal);
  });

  it.each<readonly [string, () => void, string]>([
    ['was deleted', () => claims.delete('old'), 'resourceclaims.resource.k8s.io "old" not found'],
    [
      'was replaced',
      () => claims.set('old', claimOf('old', [], [], { uid: 'uid-2' })),
      'a new ResourceClaim has the same name',
    ],
    [
      'was deallocated',
      () => claims.set('old', claimOf('old', undefined, [])),
      'the ResourceClaim is no longer allocated',
    ],
  ])('N11: after a restart, claims wait for a claim that %s until it is unprepared', async (_, change, reason) => {
    await restartWithUnlisted();
    change();
    allocate('new', ['2'], [deviceOf('gpu-1')]);
    const next = podWithClaim('2', 'new');
    const unknown = 'ResourceClaim new: unknown whether its devices are still used by ResourceClaim default/old: ';
    await expect(manager.prepare(next, signal)).rejects.toThrow(unknown + reason);
    await manager.unprepare(podWithClaim('1', 'old'), signal);
    await manager.prepare(next, signal);
  });

  it('N11: after a restart, pods share one read of a claim, which is repeated if the pod that reads is deleted', async () => {
    let reads = 0;
    const get = async (_namespace: string, name: string, ending: AbortSignal) => {
      if (name === 'old' && ++reads === 1) {
        await new Promise((_, reject) => ending.addEventListener('abort', () => reject(ending.reason)));
      }
      return claims.get(name);
    };
    await restartWithUnlisted({ claims: { get } });
    const waiting = ['2', '3', '4'].map((uid) => {
      allocate(`new${uid}`, [uid], [deviceOf(`gpu-${uid}`)]);
      const deleted = new AbortController();
      const done = manager.prepare(podWithClaim(uid, `new${uid}`), deleted.signal)?.then(() => uid);
      return { deleted, done };
    });
    await expect.poll(() => reads).toBe(1);
    waiting[0]?.deleted.abort(new Error('pod is deleted'));
    const outcomes = await Promise.allSettled(waiting.map(({ done }) => done));
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'fulfilled']);
    expect(reads).toBe(2);
  });

  it('N11: a claim waits for an interrupted claim that cannot be read, and the error names both', async () => {
    await interruptPreparation();
    stop.abort();
    await running;
    const get = async (_namespace: string, name: string) => {
      if (name === 'old') throw new Error('forbidden');
      return claims.get(name);
    };
    await start({ claims: { get } });
    await plug();
    allocate('new', ['2'], [deviceOf('gpu-1')]);
    const next = podWithClaim('2', 'new');
    const unknown = 'ResourceClaim new: unknown whether its devices are still used by ResourceClaim default/old: ';
    await expect(manager.prepare(next, signal)).rejects.toThrow(unknown);
    await manager.unprepare(podWithClaim('1', 'old'), signal);
    await manager.prepare(next, signal);
  });
});

describe('K1: a restart of the kubelet', () => {
  it('K1: running pods keep their devices over a restart of the kubelet, without a driver call', async () => {
    await start();
    const plugin = await plug();
    allocate('a', ['1']);
    const pod = podWithClaim('1', 'a');
    await manager.prepare(pod, signal);
    active = [pod];
    await restart();
    expect(manager.holdsClaims('1', pod)).toBe(true);
    expect(await idsOf(pod)).toEqual(['example.com/fake=a']);
    expect(metricLines('dra_resource_claims_in_use{driver_name="<any>"}')).toEqual([
      'dra_resource_claims_in_use{driver_name="<any>"} 1',
    ]);
    register(plugin);
    await clock.advance(120_000);
    expect(callsOf(plugin)).toEqual(['NodePrepareResources a']);
  });

  it('the devices of a claim have the same order before and after a restart of the kubelet', async () => {
    await start();
    const drivers = ['z.example.com', 'a.example.com'];
    for (const driver of drivers) {
      await plug(
        { prepare: async () => ({ devices: [{ deviceName: 'd', cdiDeviceIds: [`${driver}/d=1`] }] }) },
        driver,
      );
    }
    const devices = drivers.map((driver) => deviceOf('d', { driver }));
    allocate('both', ['1'], devices);
    const pod = podWithClaim('1', 'both');
    active = [pod];
    await manager.prepare(pod, signal);
    const order = async () => {
      const ids = await idsOf(pod);
      const [resource] = manager.dynamicResources(pod, pod.spec.containers[0] ?? containerOf('none'));
      return [resource?.claimResources.map(({ driverName }) => driverName), ids];
    };
    const before = await order();
    await restart();
    expect(await order()).toEqual(before);
    expect(before).toEqual([
      ['a.example.com', 'z.example.com'],
      ['a.example.com/d=1', 'z.example.com/d=1'],
    ]);
  });

  it('K1: after a restart of the kubelet, a claim whose preparation was interrupted is prepared again', async () => {
    await start();
    const plugin = await plug({ prepare: async () => ({ error: 'not now' }) });
    allocate('a', ['1']);
    const pod = podWithClaim('1', 'a');
    await expect(manager.prepare(pod, signal)).rejects.toThrow('not now');
    expect(stored()).toMatchObject([{ podUids: new Set(['1']) }]);
    plugin.stop();
    await restart();
    const next = await plug();
    await manager.prepare(pod, signal);
    expect(callsOf(next)).toEqual(['NodePrepareResources a']);
    expect(await idsOf(pod)).toEqual(['example.com/fake=a']);
  });

  it('K1: after a restart of the kubelet, the claims of removed pods are unprepared when no container of these pods may run', async () => {
    await start();
    const plugin = await plug();
    allocate('a', ['1']);
    await manager.prepare(podWithClaim('1', 'a'), signal);
    sourcesReady = false;
    mayRun.add('1');
    await restart();
    await expect.poll(() => manager.holdsClaims('1', undefined)).toBe(true);
    register(plugin);
    await clock.advance(60_000);
    sourcesReady = true;
    await clock.advance(60_000);
    expect(callsOf(plugin)).toEqual(['NodePrepareResources a']);
    mayRun.delete('1');
    await clock.advance(60_000);
    await expect.poll(() => unprepared).toEqual(['1']);
    expect(callsOf(plugin).at(-1)).toBe('NodeUnprepareResources a');
    expect(stored()).toEqual([]);
  });

  it('K1: after a restart of the kubelet, the claims of a pod are unprepared while the driver of another pod hangs', async () => {
    await start();
    const hanging = (): Promise<never> => new Promise(() => {});
    await plug({ unprepare: hanging });
    await plug({}, 'nic.example.com');
    allocate('a', ['1']);
    allocate('b', ['2'], [deviceOf('nic-0', { driver: 'nic.example.com' })]);
    await manager.prepare(podWithClaim('1', 'a'), signal);
    await manager.prepare(podWithClaim('2', 'b'), signal);
    await clock.advance(60_000);
    await expect.poll(() => unprepared).toEqual(['2']);
    expect(manager.holdsClaims('1', undefined)).toBe(true);
  });

  it('K1: after a restart of the kubelet, a terminated pod waits for its driver before its claims are unprepared', async () => {
    await start();
    const plugin = await plug();
    allocate('a', ['1']);
    const pod = podWithClaim('1', 'a');
    await manager.prepare(pod, signal);
    manager.deregisterPlugin(DRIVER, plugin.socketPath);
    const message = `unprepare dynamic resources: DRA driver ${DRIVER} is not registered`;
    await expect(manager.unprepare(pod, signal)).rejects.toThrow(message);
    expect(manager.holdsClaims('1', pod)).toBe(true);
    register(plugin);
    await manager.unprepare(pod, signal);
    expect(manager.holdsClaims('1', pod)).toBe(false);
  });

  it('K1: the claims of removed pods are unprepared although the checkpoint could not be read when the kubelet started', async () => {
    await start();
    const driver = await plug();
    allocate('a', ['1']);
    await manager.prepare(podWithClaim('1', 'a'), signal);
    stop.abort();
    await running;
    let failures = 0;
    const open: typeof nodeFileSystem.open = async (file, ...rest) => {
      if (file.endsWith('dra_manager_state') && failures++ === 0) throw new Error('EIO: i/o error, read');
      return await nodeFileSystem.open(file, ...rest);
    };
    await start({ fs: { ...filesOf(), open } });
    register(driver);
    await expect.poll(() => failures).toBe(1);
    await clock.advance(60_000);
    await expect.poll(() => unprepared).toEqual(['1']);
    expect(callsOf(driver)).toEqual(['NodePrepareResources a', 'NodeUnprepareResources a']);
  });

  it('K1: while the checkpoint is corrupt, no claim is prepared or unprepared, and pods without claims are not affected', async () => {
    const file = path.join(root, 'dra_manager_state');
    fs.writeFileSync(file, '{"Data":"{}","Checksum":1}');
    await start();
    const plugin = await plug();
    allocate('a', ['1']);
    const pod = podWithClaim('1', 'a');
    const message = `cannot read checkpoint ${file}: Checksum is 1, must be 2745614147; drain the node and remove the file`;
    await expect(manager.prepare(pod, signal)).rejects.toThrow(`prepare dynamic resources: ${message}`);
    await expect(manager.unprepare(pod, signal)).rejects.toThrow(`unprepare dynamic resources: ${message}`);
    expect([manager.holdsClaims('1', pod), manager.holdsClaims('2', podOf('2'))]).toEqual([true, false]);
    expect(manager.unprepare(podOf('2'), signal)).toBeUndefined();
    expect(plugin.calls).toEqual([]);
    fs.rmSync(file);
    await manager.prepare(pod, signal);
    expect(callsOf(plugin)).toEqual(['NodePrepareResources a']);
  });
});

describe('plugins of a driver', () => {
  it('of several plugins of a driver, the newest connected one is called', async () => {
    await start();
    const [old, next] = [await plug(), await plug()];
    for (const name of ['a', 'b', 'c']) allocate(name, ['1']);
    await expect.poll(() => removals).toEqual([undefined]);
    await expect
      .poll(async () => {
        await clock.advance(1000);
        await manager.prepare(podWithClaim('1', 'a'), signal);
        await manager.unprepare(podWithClaim('1', 'a'), signal);
        return next.calls.length;
      })
      .toBeGreaterThan(0);
    next.stop();
    fs.rmSync(next.socketPath, { force: true });
    const before = old.calls.length;
    await expect
      .poll(async () => {
        await manager.prepare(podWithClaim('1', 'b'), signal)?.catch(() => {});
        return old.calls.length;
      })
      .toBeGreaterThan(before);
  });

  it('a second plugin at the same socket is refused', async () => {
    await start();
    const { socketPath } = await plug();
    expect(() => manager.registerPlugin(DRIVER, socketPath, ['v1.DRAPlugin'])).toThrow(
      `endpoint ${socketPath} already registered for DRA driver plugin ${DRIVER}`,
    );
  });

  it('W6: plugins and drivers above the limits are refused', async () => {
    const transport = new MemorySockets();
    await start({ transport });
    for (let n = 0; n < 16; n++) await plug({ transport });
    await expect.poll(() => [...connected.values()].filter(Boolean).length).toBe(16);
    const more = () => manager.registerPlugin(DRIVER, path.join(root, '16.sock'), ['v1.DRAPlugin']);
    expect(more).toThrow(`DRA driver ${DRIVER} has 16 plugins, the maximum`);
    for (let n = 1; n < 256; n++) manager.registerPlugin(`d${n}.x`, path.join(root, 'x.sock'), ['v1.DRAPlugin']);
    const another = () => manager.registerPlugin('d256.x', path.join(root, 'x.sock'), ['v1.DRAPlugin']);
    expect(another).toThrow('the node has plugins of 256 DRA drivers, the maximum');
  });

  it('W6: a plugin replaces the oldest disconnected one if 16 plugins of its driver are registered', async () => {
    const transport = new MemorySockets();
    await start({ transport });
    const dead = (n: number): string => path.join(root, `dead-${n}.sock`);
    const first = await plug({ transport });
    await expect.poll(() => connected.get(first.socketPath)).toBe(true);
    for (let n = 0; n < 15; n++) manager.registerPlugin(DRIVER, dead(n), ['v1.DRAPlugin']);
    const next = await plug({ transport });
    // Only the plugin that was replaced can be registered again.
    expect(() => manager.registerPlugin(DRIVER, dead(1), ['v1.DRAPlugin'])).toThrow('already registered');
    expect(() => manager.registerPlugin(DRIVER, first.socketPath, ['v1.DRAPlugin'])).toThrow('already registered');
    manager.registerPlugin(DRIVER, dead(0), ['v1.DRAPlugin']);
    await expect.poll(() => connected.get(next.socketPath)).toBe(true);
    allocate('a', ['1']);
    await manager.prepare(podWithClaim('1', 'a'), signal);
    expect(callsOf(next)).toEqual(['NodePrepareResources a']);
  });

  it('all ResourceSlices of the node are removed at start-up, and those of a driver 30 s after its deregistration', async () => {
    await start();
    await expect.poll(() => removals).toEqual([undefined]);
    const plugin = await plug();
    await clock.advance(29_000);
    await expect.poll(() => connected.get(plugin.socketPath)).toBe(true);
    await clock.advance(31_000);
    expect(removals).toEqual([undefined]);
    manager.deregisterPlugin(DRIVER, plugin.socketPath);
    await clock.advance(29_999);
    expect(removals).toEqual([undefined]);
    await clock.advance(1);
    expect(removals).toEqual([undefined, DRIVER]);
  });

  it('the ResourceSlices of a driver are removed if its process is gone and its socket stays', async () => {
    await start();
    const plugin = await plug();
    await expect.poll(() => connected.get(plugin.socketPath)).toBe(true);
    plugin.stop();
    await expect.poll(() => connected.get(plugin.socketPath)).toBe(false);
    await clock.advance(30_000);
    expect(removals).toEqual([undefined, DRIVER]);
  });

  it('K4: a driver loses its metrics although its last plugin is deregistered while removing its ResourceSlices fails', async () => {
    let isDown = false;
    let failures = 0;
    const remove = async (driver: string | undefined): Promise<void> => {
      if (!isDown) return void removals.push(driver);
      failures++;
      throw new Error('connection refused');
    };
    await start({ slices: { remove } });
    const plugin = await plug();
    allocate('a', ['1']);
    await manager.prepare(podWithClaim('1', 'a'), signal);
    await manager.unprepare(podWithClaim('1', 'a'), signal);
    await expect.poll(() => connected.get(plugin.socketPath)).toBe(true);
    isDown = true;
    plugin.stop();
    await expect.poll(() => connected.get(plugin.socketPath)).toBe(false);
    await clock.advance(30_000);
    expect(failures).toBe(1);
    manager.deregisterPlugin(DRIVER, plugin.socketPath);
    expect(metricLines('dra_grpc_operations_duration_seconds_count')).toHaveLength(2);
    isDown = false;
    await clock.advance(10_000);
    expect(removals).toEqual([undefined, DRIVER]);
    expect(metricLines('dra_grpc_operations_duration_seconds_count')).toEqual([]);
  });

  it('a failed removal of ResourceSlices is retried', async () => {
    let failures = 3;
    const remove = async (driver: string | undefined): Promise<void> => {
      if (failures-- > 0) throw new Error('unauthorized');
      removals.push(driver);
    };
    await start({ slices: { remove } });
    await clock.advance(10_000);
    expect(removals).toEqual([undefined]);
  });
});

describe('health of devices', () => {
  const healthOf = (health: number, more: object = {}) => ({
    device: { poolName: 'node', deviceName: 'a' },
    ...{ health, ...more },
  });
  const shown = (pod: Pod) => manager.resourcesStatus(pod, pod.spec.containers[0] ?? containerOf('none'));
  const status = (health: string, message?: string) => [
    { name: 'claim:gpu', resources: [{ resourceID: 'example.com/fake=a', health, ...(message && { message }) }] },
  ];

  it("the pod's status shows the health of its devices, and Unknown after the timeout or the end of the stream", async () => {
    await start();
    allocate('a', ['1']);
    const pod = podWithClaim('1', 'a');
    const plugin = await plug({ health: [healthOf(1)] });
    await manager.prepare(pod, signal);
    active = [pod];
    await expect.poll(() => shown(pod)).toEqual(status('Healthy'));
    plugin.setHealth([healthOf(2, { message: 'too hot', healthCheckTimeoutSeconds: 60 })]);
    await clock.advance(200);
    await expect.poll(() => shown(pod)).toEqual(status('Unhealthy', 'too hot'));
    await clock.advance(59_000);
    expect(shown(pod)).toEqual(status('Unhealthy', 'too hot'));
    const told = unwell.length;
    await clock.advance(2_000);
    expect(shown(pod)).toEqual(status('Unknown'));
    expect(unwell.slice(told)).toEqual(['1']);
    plugin.setHealth([healthOf(1)]);
    await expect.poll(() => shown(pod)).toEqual(status('Healthy'));
    await clock.advance(200);
    plugin.endHealth('lost');
    await expect.poll(() => shown(pod)).toEqual(status('Unknown'));
    await clock.advance(5_000);
    await expect.poll(() => shown(pod)).toEqual(status('Healthy'));
  });

  it('the health of devices is kept over a restart of the kubelet', async () => {
    await start();
    allocate('a', ['1']);
    const pod = podWithClaim('1', 'a');
    const plugin = await plug({ health: [healthOf(2)] });
    await manager.prepare(pod, signal);
    await expect.poll(() => shown(pod)).toEqual(status('Unhealthy'));
    await expect.poll(() => fs.existsSync(path.join(root, 'dra_health_state'))).toBe(true);
    plugin.stop();
    await restart();
    await expect.poll(() => shown(pod)).toEqual(status('Unhealthy'));
    await clock.advance(30_001);
    expect(shown(pod)).toEqual(status('Unknown'));
  });

  /** Prepares a claim for pod 1, has its device reported as unhealthy for a day, and restarts the kubelet. */
  async function restartWithHealth(components: Partial<DraManagerComponents> = {}): Promise<Pod> {
    await start();
    allocate('a', ['1']);
    const pod = podWithClaim('1', 'a');
    active = [pod];
    const plugin = await plug({ health: [healthOf(2, { healthCheckTimeoutSeconds: 86_400 })] });
    await manager.prepare(pod, signal);
    const file = path.join(root, 'dra_health_state');
    await expect.poll(() => fs.existsSync(file) && fs.readFileSync(file, 'utf8').includes('Unhealthy')).toBe(true);
    plugin.stop();
    stop.abort();
    await running;
    unwell = [];
    await start(components);
    return pod;
  }

  it('the health from before a restart becomes unknown when the plugin turns out to have no health service any more', async () => {
    const pod = await restartWithHealth();
    await expect.poll(() => shown(pod)).toEqual(status('Unhealthy'));
    manager.registerPlugin(DRIVER, path.join(root, 'absent.sock'), ['v1.DRAPlugin']);
    await clock.advance(10_000);
    expect(shown(pod)).toEqual(status('Unhealthy'));
    await plug();
    await expect.poll(() => shown(pod)).toEqual(status('Unknown'));
    expect(unwell).toEqual(['1']);
  });

  it('the health from before a restart becomes unknown if the plugin registers before the health file was read', async () => {
    const gate = Promise.withResolvers<void>();
    const open: typeof nodeFileSystem.open = async (file, ...rest) => {
      if (file.endsWith('dra_health_state')) await gate.promise;
      return await nodeFileSystem.open(file, ...rest);
    };
    const pod = await restartWithHealth({ fs: { ...filesOf(), open } });
    const plugin = await plug();
    await expect.poll(() => connected.get(plugin.socketPath)).toBe(true);
    gate.resolve();
    await expect.poll(() => unwell).toEqual(['1']);
    expect(shown(pod)).toEqual(status('Unknown'));
  });

  it('the health of devices is kept when another plugin of the driver has no health service', async () => {
    await start();
    allocate('a', ['1']);
    const pod = podWithClaim('1', 'a');
    await plug({ health: [healthOf(1)] });
    await manager.prepare(pod, signal);
    await expect.poll(() => shown(pod)).toEqual(status('Healthy'));
    const other = await plug();
    await expect.poll(() => connected.get(other.socketPath)).toBe(true);
    // The health stream of the other plugin was refused before the plugin answered this later call.
    allocate('b', ['2']);
    await manager.prepare(podWithClaim('2', 'b'), signal);
    expect(callsOf(other)).toEqual(['NodePrepareResources b']);
    expect(shown(pod)).toEqual(status('Healthy'));
  });

  it('with the gate ResourceHealthStatus off, no health is shown and no health stream is opened', async () => {
    await start({}, { health: false });
    allocate('a', ['1']);
    const pod = podWithClaim('1', 'a');
    const plugin = await plug({ health: [healthOf(1)] });
    await manager.prepare(pod, signal);
    expect(shown(pod)).toEqual([]);
    expect(plugin.watches).toBe(0);
  });
});

function filesOf(): DraManagerComponents['fs'] {
  const { mkdir, open, readdir, remove, writeFileAtomic } = nodeFileSystem;
  return {
    mkdir: mkdir.bind(nodeFileSystem),
    open: open.bind(nodeFileSystem),
    readdir: readdir.bind(nodeFileSystem),
    remove: remove.bind(nodeFileSystem),
    writeFileAtomic: writeFileAtomic.bind(nodeFileSystem),
  };
}
