import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { FakeClock } from '@node-agent/async/testing';
import { GrpcClient } from '@node-agent/grpc';
import { nodeFileSystem } from '@node-agent/host';
import { type Container, formatResourceList, type Pod } from '@node-agent/pod-spec';
import { MetricsRegistry, silentLogger } from '@node-agent/telemetry';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { pluginWaitRestMs } from '../src/allocator.ts';
import { encodeCheckpoint } from '../src/checkpoint-format.ts';
import { registrationRpcs } from '../src/generated/services.ts';
import { DeviceManager, type DeviceManagerComponents, type DeviceManagerOptions } from '../src/index.ts';
import { FakeDevicePlugin, type FakeDevicePluginOptions } from '../src/testing.ts';
import { containerOf, GPU, healthy, podOf } from './builders.ts';

let root: string;
let directory: string;
let active: Pod[];
let sourcesReady: boolean;
let changes: number;
let unwell: string[];
let stop: AbortController;
let running: Promise<void>;
let manager: DeviceManager;
let plugins: FakeDevicePlugin[];
const clock = new FakeClock();

beforeEach(() => {
  root = fs.mkdtempSync(path.join(os.tmpdir(), 'devices-'));
  directory = path.join(root, 'device-plugins');
  active = [];
  sourcesReady = true;
  changes = 0;
  unwell = [];
  plugins = [];
});

afterEach(async () => {
  stop.abort();
  await running;
  for (const plugin of plugins) plugin.stop();
  // A checkpoint write that no test awaits may still be in progress.
  await fs.promises.rm(root, { recursive: true, maxRetries: 10 });
});

async function start(
  components: Partial<DeviceManagerComponents> = {},
  options: Partial<DeviceManagerOptions> = {},
): Promise<void> {
  stop = new AbortController();
  manager = new DeviceManager(
    {
      fs: nodeFileSystem,
      pods: { active: () => active, sourcesReady: () => sourcesReady },
      onResourcesChanged: () => {
        changes += 1;
      },
      onHealthChanged: (uids) => unwell.push(...uids),
      ...components,
    },
    { directory, ...options },
  );
  running = manager.start(stop.signal);
  await expect.poll(() => fs.existsSync(path.join(directory, 'kubelet.sock'))).toBe(true);
}

/** Restarts the manager as after `kill -9`: the old manager writes nothing at its end, and the files on disk stay. */
async function restart(
  components: Partial<DeviceManagerComponents> = {},
  options: Partial<DeviceManagerOptions> = {},
): Promise<void> {
  stop.abort();
  await running;
  await start(components, options);
}

async function plug(ids: readonly string[], options: Partial<FakeDevicePluginOptions> = {}): Promise<FakeDevicePlugin> {
  const plugin = new FakeDevicePlugin({ resource: GPU, directory, ...options }, healthy(...ids));
  plugins.push(plugin);
  await plugin.start();
  await plugin.register();
  await expect.poll(() => manager.allocatableDevices().get(options.resource ?? GPU)?.length).toBe(ids.length);
  return plugin;
}

const signal = new AbortController().signal;
const gpus = (count: number) => ({ [GPU]: String(count) });
const onePod = (uid: string, count = 1): Pod => podOf(uid, [containerOf('main', gpus(count))]);

async function admit(pod: Pod): Promise<{ readonly admit: boolean; readonly message?: string }> {
  const verdict = await manager.admit(pod, active, signal);
  if (verdict.admit) {
    manager.admitted(pod);
    active.push(pod);
  }
  return verdict;
}

async function devicesOf(pod: Pod, container = 'main'): Promise<string | undefined> {
  const found = pod.spec.containers.concat(pod.spec.initContainers ?? []).find(({ name }) => name === container);
  const { envs } = await manager.containerDevices(pod, found ?? containerOf(container), signal);
  return envs.find(({ name }) => name === 'FAKE_DEVICES')?.value;
}

const shown = () => {
  const { capacity, allocatable } = manager.resources();
  return [formatResourceList(allocatable)[GPU], formatResourceList(capacity)[GPU]];
};

describe('extended resources that a ResourceClaim backs', () => {
  it('an extended resource that a ResourceClaim backs is not allocated from device plugins', async () => {
    await start();
    const plugin = await plug(['a']);
    const pod = onePod('1');
    const mapping = { containerName: 'main', resourceName: GPU, requestName: 'r' };
    const status = { extendedResourceClaimStatus: { resourceClaimName: 'c', requestMappings: [mapping] } };
    expect(await admit({ ...pod, status })).toEqual({ admit: true });
    expect(await devicesOf({ ...pod, status })).toBeUndefined();
    expect(plugin.calls).toEqual([]);
    const [main] = pod.spec.containers;
    expect([manager.hints({ ...pod, status }, main), manager.hints({ ...pod, status })]).toEqual([
      new Map(),
      new Map(),
    ]);
    expect(manager.hints(pod).size).toBe(1);
  });

  it('N8: with the gate DRAExtendedResource off, the resource is allocated from device plugins', async () => {
    await start({}, { extendedResourceClaims: false, numaNodes: [0] });
    const plugin = await plug(['a']);
    const mapping = { containerName: 'main', resourceName: GPU, requestName: 'r' };
    const status = { extendedResourceClaimStatus: { resourceClaimName: 'c', requestMappings: [mapping] } };
    const pod: Pod = { ...onePod('1'), status };
    const [main] = pod.spec.containers;
    expect([manager.hints(pod, main).size, manager.hints(pod).size]).toEqual([1, 1]);
    expect(await admit(pod)).toEqual({ admit: true });
    expect(await devicesOf(pod)).toBe('a');
    expect(plugin.calls.map(({ rpc }) => rpc)).toContain('Allocate');
  });
});

describe('device plugins', () => {
  it('sets the container label of the plugin directory before plugins see the socket, and continues if labelling fails', async () => {
    const labelled: unknown[] = [];
    const labelForContainers = async (path: string): Promise<void> => {
      labelled.push([path, fs.readdirSync(path)]);
      throw new Error('not supported');
    };
    await start({ labelForContainers });
    expect(labelled).toEqual([[directory, []]]);
    expect(manager.health()).toBeUndefined();
  });

  it('updates the capacity and the allocatable devices of the node when a plugin reports new devices', async () => {
    await start();
    const plugin = await plug(['a', 'b']);
    expect(shown()).toEqual(['2', '2']);
    plugin.setDevices([...healthy('a'), { ID: 'b', health: 'Unhealthy' }]);
    await expect.poll(shown).toEqual(['1', '2']);
    plugin.setDevices(healthy('a', 'b', 'c'));
    await expect.poll(shown).toEqual(['3', '3']);
    expect(changes).toBe(3);
  });

  it('reports no allocatable devices after a plugin stopped, and no capacity after five minutes', async () => {
    await start({ clock });
    const plugin = await plug(['a', 'b']);
    plugin.stop();
    await expect.poll(shown).toEqual(['0', '2']);
    await clock.advance(300_001);
    expect(shown()).toEqual([undefined, undefined]);
    expect(manager.resources().removed).toEqual([GPU]);
  });

  it('K4: reports a resource as removed until the node status has recorded the removal', async () => {
    await start({ clock });
    const plugin = await plug(['a']);
    plugin.stop();
    await expect.poll(shown).toEqual(['0', '1']);
    await clock.advance(300_001);
    expect(manager.resources().removed).toEqual([GPU]);
    expect(manager.resources().removed).toEqual([GPU]);
    manager.reported([GPU]);
    expect(manager.resources().removed).toEqual([]);
  });

  it('reports no allocatable devices after the stream of a plugin ended, until the plugin registers again', async () => {
    await start();
    const plugin = await plug(['a']);
    plugin.endWatches('out of order');
    await expect.poll(shown).toEqual(['0', '1']);
    await plugin.register();
    await expect.poll(shown).toEqual(['1', '1']);
  });

  it('a new registration replaces the old plugin, and the end of the old stream removes no device', async () => {
    await start();
    const old = await plug(['a'], { socketName: 'old.sock' });
    await plug(['x', 'y'], { socketName: 'new.sock' });
    old.stop();
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(shown()).toEqual(['2', '2']);
  });

  it('rejects a plugin that does not return its options and keeps the previous plugin of the resource', async () => {
    await start();
    await plug(['a']);
    const broken = new FakeDevicePlugin(
      {
        ...{ resource: GPU, directory, socketName: 'broken.sock' },
        getOptions: async () => {
          throw new Error('not today');
        },
      },
      healthy('b'),
    );
    plugins.push(broken);
    await broken.start();
    await expect(broken.register()).rejects.toThrow(
      'failed to get device plugin options: rpc error: code = Unknown desc = not today',
    );
    expect(shown()).toEqual(['1', '1']);
  });

  it.each([
    [
      'v1alpha1',
      GPU,
      'p.sock',
      'requested API version "v1alpha1" is not supported by kubelet. Supported version is ["v1beta1"]',
    ],
    ['v1beta1', 'cpu', 'p.sock', 'the ResourceName "cpu" is invalid'],
    ['v1beta1', 'kubernetes.io/gpu', 'p.sock', 'the ResourceName "kubernetes.io/gpu" is invalid'],
    ['v1beta1', GPU, '../../run/p.sock', 'endpoint "../../run/p.sock" must be the path of a socket below '],
    ['v1beta1', GPU, `${'x'.repeat(120)}.sock`, 'the path of a socket must have at most 107 bytes'],
  ])(
    'W3: rejects a registration with version %s, resource %s and endpoint %s',
    async (version, resourceName, endpoint, message) => {
      await start();
      const client = new GrpcClient({}, { socketPath: path.join(directory, 'kubelet.sock') });
      const call = client.unary(registrationRpcs.register, { version, resourceName, endpoint });
      await expect(call).rejects.toThrow(message);
      client.close();
    },
  );

  it('registers a plugin whose socket is in a subdirectory of the plugin directory', async () => {
    await start();
    fs.mkdirSync(path.join(directory, 'vendor'));
    await plug(['a'], { socketName: 'vendor/gpu.sock' });
    expect(shown()).toEqual(['1', '1']);
  });

  it('W3: counts a device that is listed twice once, in the state of its last entry', async () => {
    const warned: object[] = [];
    const warn = (fields: object): void => void warned.push(fields);
    await start({ logger: { ...silentLogger, child: () => silentLogger, warn } });
    const plugin = await plug(['a']);
    const long = 'x'.repeat(1e5);
    plugin.setDevices([...healthy('a', 'b', long, long), { ID: 'a', health: 'Unhealthy' }]);
    await expect.poll(shown).toEqual(['2', '3']);
    expect(warned).toEqual([{ resource: GPU, duplicates: [`${long.slice(0, 317)}...`, 'a'], count: 2 }]);
  });

  it('W3: stops a plugin whose device list exceeds the gRPC limit, and the kubelet continues', async () => {
    await start();
    const plugin = await plug(['a']);
    plugin.setDevices(healthy(...Array.from({ length: 100_000 }, (_, i) => `${i}-${'x'.repeat(50)}`)));
    await expect.poll(shown, { timeout: 10_000 }).toEqual(['0', '1']);
  });

  it('registers a plugin that was discovered by its socket, until the socket is removed', async () => {
    await start();
    expect(manager.validatePlugin(GPU, ['v1beta1', 'v2'])).toBeUndefined();
    expect(manager.validatePlugin(GPU, ['v2', 'v3'])).toBe(
      'manager version, v1beta1, is not among plugin supported versions [v2 v3]',
    );
    expect(manager.validatePlugin('cpu', ['v1beta1'])).toBe(
      'invalid name of device plugin socket: the ResourceName "cpu" is invalid',
    );
    const plugin = new FakeDevicePlugin({ resource: GPU, directory: root }, healthy('a'));
    plugins.push(plugin);
    await plugin.start();
    await manager.registerPlugin(GPU, plugin.socketPath, signal);
    await expect.poll(shown).toEqual(['1', '1']);
    manager.deregisterPlugin(GPU, '/another.sock');
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(shown()).toEqual(['1', '1']);
    manager.deregisterPlugin(GPU, plugin.socketPath);
    await expect.poll(shown).toEqual(['0', '1']);
  });

  it('removes only sockets from the plugin directory at the start', async () => {
    fs.mkdirSync(path.join(directory, 'folder'), { recursive: true });
    fs.writeFileSync(path.join(directory, 'kubelet_internal_checkpoint'), 'x');
    fs.writeFileSync(path.join(directory, 'DEPRECATION'), '');
    fs.symlinkSync('nowhere', path.join(directory, 'dangling'));
    await start();
    await plug(['a']);
    fs.symlinkSync(`${GPU.replace('/', '-')}.sock`, path.join(directory, 'a-link.sock'));
    const before = fs.readdirSync(directory);
    expect(before).toContain('a-link.sock');
    // The plugins' sockets still exist at the next start, as after a kill of the kubelet.
    const survivor = new DeviceManager(
      { fs: nodeFileSystem, pods: { active: () => [], sourcesReady: () => true } },
      { directory },
    );
    stop.abort();
    await running;
    stop = new AbortController();
    running = survivor.start(stop.signal);
    await expect.poll(() => fs.existsSync(path.join(directory, 'kubelet.sock'))).toBe(true);
    expect(fs.readdirSync(directory).sort()).toEqual(
      ['DEPRECATION', 'dangling', 'folder', 'kubelet.sock', 'kubelet_internal_checkpoint'].sort(),
    );
  });
});

describe('device admission', () => {
  it('allocates devices to a pod that requests them, and admits a pod without device requests synchronously', async () => {
    await start();
    await plug(['a', 'b']);
    expect(manager.admit(podOf('plain', [containerOf('main', { cpu: '1' })]), [], signal)).toEqual({ admit: true });
    const pod = onePod('u', 2);
    expect(await admit(pod)).toEqual({ admit: true });
    expect(await devicesOf(pod)).toBe('a,b');
    expect(manager.devicesOf('u', 'main')).toEqual(new Map([[GPU, new Map([[-1, ['a', 'b']]])]]));
  });

  it("N8: refuses a pod without a free device with upstream's message, and frees the devices of a deleted pod", async () => {
    await start();
    await plug(['a']);
    expect(await admit(onePod('one'))).toEqual({ admit: true });
    expect(await admit(onePod('two'))).toEqual({
      admit: false,
      reason: 'UnexpectedAdmissionError',
      message: `Allocate failed due to requested number of devices unavailable for ${GPU}. Requested: 1, Available: 0, which is unexpected`,
    });
    active = [];
    expect(await admit(onePod('two'))).toEqual({ admit: true });
  });

  it('N8: a pod waits for the devices of a pod that a source may still report', async () => {
    const clock = new FakeClock();
    await start({ clock });
    await plug(['a']);
    expect(await admit(onePod('one'))).toEqual({ admit: true });
    sourcesReady = false;
    active = [];
    let verdict: unknown;
    const second = admit(onePod('two')).then((answer) => {
      verdict = answer;
    });
    await clock.advance(60_000);
    expect(verdict).toBeUndefined();
    sourcesReady = true;
    await clock.advance(250);
    await second;
    expect(verdict).toEqual({ admit: true });
  });

  it('N8: never allocates the same device to two pods that are admitted concurrently', async () => {
    await start();
    await plug(['a', 'b'], {
      allocate: async (ids) => {
        await new Promise((resolve) => setTimeout(resolve, 30));
        return { envs: { FAKE_DEVICES: ids.join() } };
      },
    });
    const pods = ['one', 'two', 'three'].map((uid) => onePod(uid));
    const verdicts = await Promise.all(pods.map(admit));
    expect(verdicts.map((verdict) => verdict.admit)).toEqual([true, true, false]);
    expect(await Promise.all(pods.slice(0, 2).map((pod) => devicesOf(pod)))).toEqual(['a', 'b']);
  });

  it('a younger pod waits while an older pod without a final decision holds the devices', async () => {
    await start();
    await plug(['a']);
    const older = onePod('older');
    expect(await manager.admit(older, [], signal)).toEqual({ admit: true });
    let decided = false;
    const younger = admit(onePod('younger')).finally(() => {
      decided = true;
    });
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(decided).toBe(false);
    manager.release(older);
    expect(await younger).toEqual({ admit: true });
  });

  it("W6: a plugin that hangs blocks only its own pod, and the wait ends when the pod's admission is aborted", async () => {
    await start();
    await plug(['a'], { allocate: () => new Promise(() => {}) });
    await plug(['x'], { resource: 'example.com/fpga' });
    const ending = new AbortController();
    const hanging = Promise.resolve(manager.admit(onePod('hangs'), [], ending.signal));
    const other = podOf('other', [containerOf('main', { 'example.com/fpga': '1' })]);
    expect(await admit(other)).toEqual({ admit: true });
    ending.abort(new Error('the pod is gone'));
    expect(await hanging).toMatchObject({ admit: false });
    expect(manager.devicesOf('hangs', 'main').size).toBe(0);
  });

  it('W6: rejects a pod immediately if its devices are in use, even if the plugin of another resource hangs for an older pod', async () => {
    const FPGA = 'example.com/fpga';
    await start();
    await plug(['a'], { allocate: () => new Promise(() => {}) });
    await plug(['x'], { resource: FPGA });
    const ofFpga = (uid: string): Pod => podOf(uid, [containerOf('main', { [FPGA]: '1' })]);
    expect(await admit(ofFpga('holder'))).toEqual({ admit: true });
    const ending = new AbortController();
    const hanging = Promise.resolve(manager.admit(onePod('hangs'), [], ending.signal));
    let message: string | undefined;
    const refused = admit(ofFpga('younger')).then((verdict) => {
      message = verdict.message;
    });
    try {
      await expect.poll(() => message).toContain(`unavailable for ${FPGA}. Requested: 1, Available: 0`);
    } finally {
      ending.abort(new Error('the pod is gone'));
      await Promise.all([hanging, refused]);
    }
  });

  it('a pod waits for an older pod whose Allocate call is in progress', async () => {
    await start();
    let fail: (err: Error) => void = () => {};
    let asked = 0;
    await plug(['a'], {
      allocate: () =>
        ++asked > 1
          ? Promise.resolve({})
          : new Promise((_, reject) => {
              fail = reject;
            }),
    });
    const older = admit(onePod('older'));
    await expect.poll(() => asked).toBe(1);
    const younger = admit(onePod('younger'));
    await new Promise((resolve) => setTimeout(resolve, 50));
    fail(new Error('broken'));
    expect((await older).admit).toBe(false);
    expect(await younger).toEqual({ admit: true });
  });

  it('refuses a pod with the error of its plugin and keeps no device for the pod', async () => {
    await start();
    const plugin = await plug(['a', 'b'], {
      allocate: async (ids) => {
        if (ids.includes('b')) throw new Error('b is broken');
        return {};
      },
    });
    const pod = podOf('u', [containerOf('one', gpus(1)), containerOf('two', gpus(1))]);
    expect((await admit(pod)).message).toBe(
      'Allocate failed due to rpc error: code = Unknown desc = b is broken, which is unexpected',
    );
    expect(plugin.calls.map(({ ids }) => ids)).toEqual([['a'], ['b']]);
    expect(await admit(onePod('next'))).toEqual({ admit: true });
  });

  it('gives the devices of an init container to later containers, and the devices of a sidecar to no other container', async () => {
    await start();
    await plug(['a', 'b']);
    const sidecar = { ...containerOf('side', gpus(1)), restartPolicy: 'Always' as const };
    const pod = podOf('u', [containerOf('main', gpus(1))], [containerOf('init', gpus(1)), sidecar]);
    expect(await admit(pod)).toEqual({ admit: true });
    expect([await devicesOf(pod, 'init'), await devicesOf(pod, 'side'), await devicesOf(pod)]).toEqual(['a', 'a', 'b']);
  });

  it('calls GetPreferredAllocation if the plugin offers it, and uses the preferred free devices', async () => {
    await start();
    await plug(['a', 'b', 'c'], {
      options: { getPreferredAllocationAvailable: true },
      prefer: async () => ['c', 'nonsense'],
    });
    const pod = onePod('u', 2);
    expect(await admit(pod)).toEqual({ admit: true });
    expect(await devicesOf(pod)).toBe('a,c');
  });

  describe('device allocation by NUMA affinity', () => {
    const onNodes = (nodes: Readonly<Record<string, number>>) =>
      Object.entries(nodes).map(([ID, node]) => ({ ID, health: 'Healthy', topology: { nodes: [{ ID: node }] } }));

    it('devices of the NUMA affinity are allocated, and the plugin may prefer some of them', async () => {
      let affinity: readonly number[] | undefined = [1];
      await start({ affinity: () => affinity });
      const plugin = await plug(['a', 'b', 'c', 'd', 'e'], {
        options: { getPreferredAllocationAvailable: true },
        prefer: async () => ['a', 'e'],
      });
      plugin.setDevices(onNodes({ a: 0, b: 0, c: 1, d: 1, e: 1 }));
      await expect.poll(() => manager.allocatableDevices().get(GPU)?.[0]?.numaNodes).toEqual([0]);
      const pod = onePod('u', 2);
      expect(await admit(pod)).toEqual({ admit: true });
      expect(await devicesOf(pod)).toBe('c,e');
      expect(plugin.calls[0]).toEqual({ rpc: 'GetPreferredAllocation', ids: ['c', 'd', 'e'] });
      affinity = [1];
      const other = onePod('v', 2);
      expect(await admit(other)).toEqual({ admit: true });
      expect(await devicesOf(other)).toBe('a,d');
    });

    it('topology hints cover free devices, and devices that a container or pod already has', async () => {
      await start({}, { numaNodes: [0, 1] });
      const plugin = await plug(['a', 'b', 'c']);
      const pod = onePod('u', 2);
      const [main] = pod.spec.containers;
      // The resource has no topology hint, because no device has a NUMA node.
      expect(manager.hints(pod, main)).toEqual(new Map([[GPU, undefined]]));
      plugin.setDevices(onNodes({ a: 0, b: 1, c: 1 }));
      await expect.poll(() => manager.allocatableDevices().get(GPU)?.[0]?.numaNodes).toEqual([0]);
      const free = new Map([
        [
          GPU,
          [
            { nodes: [1], preferred: true },
            { nodes: [0, 1], preferred: false },
          ],
        ],
      ]);
      expect([manager.hints(pod, main), manager.hints(pod)]).toEqual([free, free]);
      await admit(pod);
      const held = new Map([[GPU, [{ nodes: [0, 1], preferred: false }]]]);
      expect([manager.hints(pod, main), manager.hints(pod)]).toEqual([held, held]);
      expect(manager.hints(onePod('v', 2))).toEqual(new Map([[GPU, []]]));
      expect(manager.hints(podOf('w', [containerOf('main')]))).toEqual(new Map());
    });

    it('devices are allocated container by container, and all are freed if the pod is released', async () => {
      await start();
      await plug(['a', 'b']);
      const pod = podOf('u', [containerOf('one', gpus(1)), containerOf('two', gpus(1))]);
      manager.begin(pod);
      for (const container of pod.spec.containers) await manager.allocate(pod, container, signal);
      await manager.stored();
      const file = (): string => fs.readFileSync(path.join(directory, 'kubelet_internal_checkpoint'), 'utf8');
      expect(file()).toContain('"ContainerName":"two"');
      manager.release(pod);
      await expect.poll(file).not.toContain('"ContainerName"');
    });
  });

  it('calls PreStartContainer before each container start if the plugin requires it', async () => {
    await start();
    let fails = false;
    const plugin = await plug(['a'], {
      options: { preStartRequired: true },
      preStart: async () => {
        if (fails) throw new Error('no reset');
      },
    });
    const pod = onePod('u');
    await admit(pod);
    await devicesOf(pod);
    await devicesOf(pod);
    expect(plugin.calls.map(({ rpc }) => rpc)).toEqual(['Allocate', 'PreStartContainer', 'PreStartContainer']);
    fails = true;
    await expect(devicesOf(pod)).rejects.toThrow(
      'device plugin PreStartContainer rpc failed with err: rpc error: code = Unknown desc = no reset',
    );
  });

  it('allocatableFor counts the devices that a pod holds even if the plugin is gone', async () => {
    await start();
    const plugin = await plug(['a', 'b']);
    const pod = onePod('u', 2);
    await admit(pod);
    plugin.stop();
    expect(manager.allocatableFor(pod, { cpu: '1', [GPU]: '0' })).toEqual({ cpu: '1', [GPU]: '2' });
    expect(manager.allocatableFor(onePod('other'), { [GPU]: '0' })).toEqual({ [GPU]: '0' });
  });
});

describe('device manager after a kubelet restart', () => {
  it('K1: remembers the holders of devices after a restart, before the plugin has registered again', async () => {
    await start();
    expect(await manager.isNewNode()).toBe(true);
    const plugin = await plug(['a', 'b']);
    const pod = onePod('u');
    await admit(pod);
    await restart({}, { pluginWaitMs: 0 });
    expect(await manager.isNewNode()).toBe(false);
    expect(await devicesOf(pod)).toBe('a');
    expect(shown()).toEqual(['0', '0']);
    expect((await admit(onePod('new'))).message).toBe(
      `Allocate failed due to no healthy devices present; cannot allocate unhealthy devices ${GPU}, which is unexpected`,
    );
    plugin.stop();
    const again = await plug(['a', 'b']);
    const second = onePod('second');
    expect(await admit(second)).toEqual({ admit: true });
    expect(await devicesOf(second)).toBe('b');
    expect(again.calls.map(({ ids }) => ids)).toEqual([['b']]);
  });

  it('admits a new pod when the plugin of a resource from before the start has registered', async () => {
    const waits: string[] = [];
    const noted: NonNullable<DeviceManagerComponents['noted']> = async ({ podUid, what }, work) => {
      waits.push(`${podUid}: ${what}`);
      return await work();
    };
    await start();
    const plugin = await plug(['a', 'b']);
    const held = onePod('held');
    await admit(held);
    await restart({ clock, noted });
    plugin.stop();
    active = [];
    const verdicts = [admit(held), admit(onePod('new'))];
    await expect.poll(() => waits.length).toBe(2);
    await plug(['a', 'b']);
    await clock.advance(1000);
    expect(await Promise.all(verdicts)).toEqual([{ admit: true }, { admit: true }]);
    expect([await devicesOf(held), waits[0]]).toEqual([
      'a',
      `held: ${GPU}: its device plugin, which has not registered since the kubelet was started`,
    ]);
  });

  it('waitedForHolder waits for the termination of a pod that holds devices of a requested resource', async () => {
    let mayRun = true;
    const waits: string[] = [];
    const pods = { active: () => active, mayRun: () => mayRun, sourcesReady: () => true };
    const noted: NonNullable<DeviceManagerComponents['noted']> = async ({ what }, work) => {
      waits.push(what);
      return await work();
    };
    await start({ pods, noted });
    await plug(['a']);
    await admit(onePod('old'));
    const waited = (): Promise<boolean> => manager.waitedForHolder(onePod('new'), signal);
    expect(await waited()).toBe(false);
    active = [];
    const first = waited();
    await expect.poll(() => waits).toContain(`${GPU}: termination of pod old, which holds devices until then`);
    mayRun = false;
    expect([await first, await waited()]).toEqual([true, false]);
  });

  it('waitedForHolder waits for an older pod in admission that holds devices, whatever other pods do', async () => {
    await start();
    await plug(['a']);
    const [older, other, pod] = [onePod('older'), onePod('other'), onePod('new')];
    for (const one of [older, other, pod]) manager.begin(one);
    await manager.allocate(older, older.spec.containers[0] as Container, signal);
    let isOver = false;
    const waited = manager.waitedForHolder(pod, signal).then((hasWaited) => {
      isOver = true;
      return hasWaited;
    });
    for (let count = 0; count < 3; count++) {
      manager.release(other);
      manager.begin(other);
      await setImmediate();
    }
    expect(isOver).toBe(false);
    manager.release(older);
    expect(await waited).toBe(true);
  });

  it('pluginsReady resolves when the plugin of a resource from before the start has registered', async () => {
    await start();
    (await plug(['a'])).stop();
    await restart({ clock });
    await manager.load();
    let isReady = false;
    const ready = manager.pluginsReady(onePod('new'), signal).then(() => {
      isReady = true;
    });
    await clock.advance(1000);
    expect(isReady).toBe(false);
    await plug(['a']);
    await clock.advance(1000);
    await ready;
    // A pod without devices waits for nothing.
    await manager.pluginsReady(podOf('other', [containerOf('main')]), signal);
  });

  it('refuses a new pod if the plugin of a resource from before the start has not registered after two minutes', async () => {
    await start();
    (await plug(['a'])).stop();
    await restart({ clock });
    let verdict: unknown;
    const asked = admit(onePod('new')).then((answer) => {
      verdict = answer;
    });
    const advance = async (ms: number): Promise<void> => {
      await expect.poll(() => clock.nextTimerInMs).toBeDefined();
      await clock.advance(ms);
    };
    await advance(119_000);
    expect(verdict).toBeUndefined();
    await advance(2000);
    await asked;
    expect(verdict).toMatchObject({ admit: false, reason: 'UnexpectedAdmissionError' });
    // The wait counts from the start of the kubelet, so the next pod does not wait again.
    expect(await admit(onePod('next'))).toMatchObject({ admit: false });
  });

  it('K1: a pod that is refused when it is admitted again, as after a restart, keeps the devices that it holds', async () => {
    await start();
    const plugin = await plug(['a']);
    const pod = onePod('u');
    await admit(pod);
    plugin.setDevices([{ ID: 'a', health: 'Unhealthy' }]);
    await expect.poll(shown).toEqual(['0', '1']);
    expect((await manager.admit(pod, [], signal)).admit).toBe(false);
    expect(manager.devicesOf('u', 'main').size).toBe(1);
  });

  it('starts with a corrupt checkpoint and allocates devices again at the next container start of a running pod', async () => {
    await start();
    await plug(['a']);
    await admit(onePod('u'));
    stop.abort();
    await running;
    fs.writeFileSync(path.join(directory, 'kubelet_internal_checkpoint'), '{"Data":{},"Checksum":1}');
    await start();
    plugins.pop()?.stop();
    await plug(['a']);
    const [pod] = active;
    if (pod === undefined) throw new Error('no pod');
    expect(await devicesOf(pod)).toBe('a');
  });

  it('N8: allocates no devices to a pod that is being removed and fails the start of its containers', async () => {
    await start();
    await plug(['a', 'b']);
    const pod = onePod('u');
    await expect(devicesOf(pod)).rejects.toThrow(`pod is being removed and has no ${GPU} for container main`);
    active = [pod];
    expect(await devicesOf(pod)).toBe('a');
    active = [];
    expect(await devicesOf(pod)).toBe('a');
  });

  it('K1: keeps the devices of other containers if the stored Allocate response of one container is unreadable', async () => {
    fs.mkdirSync(directory, { recursive: true });
    const entry = (podUid: string, response: Uint8Array) => ({
      ...{ podUid, container: 'main', resource: GPU, response },
      devices: new Map([[-1, [podUid]]]),
    });
    const entries = [entry('broken', Uint8Array.of(0xff)), entry('whole', new Uint8Array())];
    const text = encodeCheckpoint({ entries, registered: new Map([[GPU, []]]) });
    fs.writeFileSync(path.join(directory, 'kubelet_internal_checkpoint'), text);
    await start();
    expect([manager.devicesOf('broken', 'main').size, manager.devicesOf('whole', 'main').size]).toEqual([0, 1]);
  });

  it('fails the start of a container whose devices could not be written to the checkpoint', async () => {
    await start();
    await plug(['a']);
    await new Promise((resolve) => setTimeout(resolve, 50));
    await restart({
      fs: { ...nodeFileSystem, writeFileAtomic: async () => Promise.reject(new Error('ENOSPC: no space left')) },
    });
    plugins.pop()?.stop();
    await plug(['a']);
    expect((await admit(onePod('u'))).message).toContain(
      'failed to write checkpoint file "kubelet_internal_checkpoint": ENOSPC',
    );
  });
});

describe('device manager: hostile plugins', () => {
  it('W6: handles only the newest list of a plugin that sends lists without end, with pauses between them', async () => {
    await start({ clock });
    const plugin = await plug(['a']);
    for (let count = 2; count < 12; count++) {
      plugin.setDevices(healthy(...Array.from({ length: count }, (_, index) => `d${index}`)));
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    expect([changes, shown()]).toEqual([1, ['1', '1']]);
    await clock.advance(100);
    await expect.poll(shown).toEqual(['11', '11']);
    expect(changes).toBe(2);
  });

  it('rejects registrations with invalid resource names with a short message and without a metric series', async () => {
    const metrics = new MetricsRegistry();
    await start({ metrics });
    const client = new GrpcClient({}, { socketPath: `${directory}/kubelet.sock` });
    const register = (request: object) => client.unary(registrationRpcs.register, { version: 'v1beta1', ...request });
    try {
      for (const resourceName of ['x'.repeat(1e6), 'cpu', '__proto__', 'a/b/c']) {
        await expect(register({ resourceName, endpoint: 'x.sock' })).rejects.toThrow(
          /^rpc error: .{0,400} is invalid$/,
        );
      }
      const endpoint = `../${'x'.repeat(1e6)}`;
      await expect(register({ resourceName: GPU, endpoint })).rejects.toThrow(/endpoint .{0,400} must be the path/);
      const long = register({ resourceName: GPU, endpoint: 'x'.repeat(1e6) });
      await expect(long).rejects.toThrow(/^rpc error: .{0,50}socket path is too long: .{0,400}$/);
    } finally {
      client.close();
    }
    expect(metrics.text().match(/^kubelet_device_plugin_registration_total.*$/gm)).toEqual([
      `kubelet_device_plugin_registration_total{resource_name="${GPU}"} 2`,
    ]);
  });

  it.each([[['x'.repeat(1e6)]], [Array.from({ length: 1e6 }, () => 'x')]])(
    'W6: validatePlugin rejects a long list of unsupported versions with a short message',
    async (versions) => {
      await start();
      expect(manager.validatePlugin(GPU, versions)).toMatch(/^manager version, v1beta1, is not among .{0,400}$/);
    },
  );
});

describe('device manager: health, status and metrics', () => {
  it('a device that becomes unhealthy changes the resource status of the pod and notifies the listener about the pod', async () => {
    await start();
    const plugin = await plug(['a', 'b']);
    await admit(onePod('u'));
    expect(manager.resourcesStatus('u', 'main')).toEqual([
      { name: GPU, resources: [{ resourceID: 'a', health: 'Healthy' }] },
    ]);
    plugin.setDevices([...healthy('b'), { ID: 'a', health: 'Broken' }]);
    await expect.poll(() => unwell).toEqual(['u']);
    expect(manager.resourcesStatus('u', 'main')[0]?.resources).toEqual([{ resourceID: 'a', health: 'Unhealthy' }]);
    plugin.setDevices(healthy('b'));
    await expect.poll(shown).toEqual(['1', '1']);
    expect(manager.resourcesStatus('u', 'main')[0]?.resources).toEqual([{ resourceID: 'a', health: 'Healthy' }]);
  });

  it("exports the registrations and allocation times of device plugins under upstream's metric names", async () => {
    const metrics = new MetricsRegistry();
    await start({ metrics });
    await plug(['a']);
    await admit(onePod('u'));
    const text = metrics.text();
    expect(text).toContain(`kubelet_device_plugin_registration_total{resource_name="${GPU}"} 1`);
    expect(text).toContain(`kubelet_device_plugin_alloc_duration_seconds_count{resource_name="${GPU}"} 1`);
    expect(text).toContain('le="10"');
  });

  it('reports the error while the registration socket cannot be created, and listens once it can', async () => {
    fs.writeFileSync(directory, 'in the way');
    stop = new AbortController();
    manager = new DeviceManager(
      { clock, fs: nodeFileSystem, pods: { active: () => [], sourcesReady: () => true } },
      { directory },
    );
    running = manager.start(stop.signal);
    await expect
      .poll(() => manager.health())
      .toMatch(/^device registration error: device plugin registration gRPC server failed/);
    fs.rmSync(directory);
    await clock.advance(5_000);
    await expect.poll(() => manager.health()).toBeUndefined();
  });

  it('W3: rejects a relative plugin directory, and accepts plugins with a directory that ends with a slash', async () => {
    const components = { fs: nodeFileSystem, pods: { active: () => [], sourcesReady: () => true } };
    expect(() => new DeviceManager(components, { directory: 'plugins' })).toThrow(
      'directory: must be an absolute path, not "plugins"',
    );
    const plain = directory;
    directory = `${plain}/`;
    await start();
    directory = plain;
    const plugin = new FakeDevicePlugin({ resource: GPU, directory }, healthy('a'));
    plugins.push(plugin);
    await plugin.start();
    await plugin.register();
    await expect.poll(() => changes).toBeGreaterThan(0);
  });
});

it.each([
  ['a resource that is not awaited', undefined, 0],
  ['a resource at the start of the wait', 1000, 500],
  ['a resource after half of the wait', 750, 250],
  ['a resource at the end of the wait', 500, 0],
  ['a resource long after the wait', 0, 0],
])('pluginWaitRestMs returns the remaining wait for %s: $2', (_, sinceMs, expected) => {
  expect(pluginWaitRestMs(sinceMs, 1000, 500)).toBe(expected);
});
