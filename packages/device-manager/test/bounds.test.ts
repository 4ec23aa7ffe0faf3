import { sleep } from '@node-agent/async';
import { FakeClock } from '@node-agent/async/testing';
import { service } from '@node-agent/grpc';
import { MemorySockets } from '@node-agent/grpc/testing';
import { MemoryFileSystem } from '@node-agent/host/testing';
import type { Container, Pod } from '@node-agent/pod-spec';
import { MetricsRegistry } from '@node-agent/telemetry';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { devicePluginRpcs } from '../src/generated/services.ts';
import { DeviceManager } from '../src/index.ts';
import { DeviceInventory } from '../src/inventory.ts';
import { PodDevices } from '../src/pod-devices.ts';
import { FakeDevicePlugin, type FakeDevicePluginOptions } from '../src/testing.ts';
import { containerOf, GPU, healthy, podOf } from './builders.ts';

const directory = '/var/lib/kubelet/device-plugins';
const signal = new AbortController().signal;

let clock: FakeClock;
let transport: MemorySockets;
let metrics: MetricsRegistry;
let waits: string[];
/** UIDs of deleted pods that may still have running containers. */
let ending: Set<string>;
let active: Pod[];
let stop: AbortController;
let manager: DeviceManager;
let running: Promise<void>;

beforeEach(async () => {
  clock = new FakeClock();
  transport = new MemorySockets();
  metrics = new MetricsRegistry();
  waits = [];
  ending = new Set();
  active = [];
  stop = new AbortController();
  manager = new DeviceManager(
    {
      ...{ clock, transport, metrics },
      fs: new MemoryFileSystem({ clock }),
      pods: { active: () => active, mayRun: (uid) => ending.has(uid), sourcesReady: () => true },
      noted(wait, work) {
        waits.push(`${wait.podUid} ${wait.container}: ${wait.what}`);
        return work();
      },
    },
    { directory },
  );
  running = manager.start(stop.signal);
  await clock.settle();
});

afterEach(async () => {
  stop.abort();
  await running;
});

async function plug(ids: readonly string[], options: Partial<FakeDevicePluginOptions> = {}): Promise<FakeDevicePlugin> {
  const plugin = new FakeDevicePlugin({ resource: GPU, directory, transport, clock, ...options }, healthy(...ids));
  await plugin.start();
  await plugin.register();
  await clock.settle();
  return plugin;
}

/** Returns the number of allocatable devices and the capacity. */
const amounts = (): readonly (number | undefined)[] => {
  const { capacity, allocatable } = manager.resources();
  return [allocatable, capacity].map((of) => of.get(GPU) && Number(of.get(GPU)?.value()));
};

const counted = () => metrics.text().match(/^kubelet_device_plugin_registration_total\{.*$/gm)?.length ?? 0;
const resourceOf = (index: number): string => `example.com/r${index}`;

describe('device manager: bounds for hostile plugins', () => {
  it('W6: rejects the plugin of a 257th resource by name, and still accepts re-registrations of known resources', async () => {
    for (let index = 0; index < 256; index++) await plug(['a'], { resource: resourceOf(index) });
    await expect(plug(['a'], { resource: 'example.com/one-too-many' })).rejects.toThrow(
      /^rpc error: code = Unknown desc = the device plugin of example.com\/one-too-many at example.com-one-too-many.sock was rejected: device plugins already have 256 resources of this node$/,
    );
    await expect(manager.registerPlugin('example.com/found', `${directory}/found.sock`, signal)).rejects.toThrow(
      'the device plugin of example.com/found at /var/lib/kubelet/device-plugins/found.sock was rejected',
    );
    expect(manager.resources().capacity.size).toBe(256);
    const again = new FakeDevicePlugin(
      { resource: resourceOf(0), directory, transport, clock, socketName: 'again.sock' },
      healthy('a', 'b'),
    );
    await again.start();
    await again.register();
    await clock.settle();
    expect(manager.allocatableDevices().get(resourceOf(0))?.length).toBe(2);
  });

  it('K4: removes a resource and its metric series five minutes after its plugin stopped, to make room for another', async () => {
    const plugins = [];
    for (let index = 0; index < 256; index++) plugins.push(await plug(['a'], { resource: resourceOf(index) }));
    expect(counted()).toBe(256);
    for (const plugin of plugins) plugin.stop();
    await clock.settle();
    await clock.advance(300_001);
    expect(manager.resources().removed).toHaveLength(256);
    expect(counted()).toBe(0);
    await plug(['a'], { resource: 'example.com/next' });
    expect(counted()).toBe(1);
  });

  it('K4: keeps a bounded number of metric series for registrations whose plugins do not answer', async () => {
    const asked = [];
    for (let index = 0; index < 300; index++) {
      const silent = new FakeDevicePlugin({ resource: resourceOf(index), directory, transport, clock }, []);
      asked.push(expect(silent.register()).rejects.toThrow('failed to dial device plugin'));
    }
    await clock.advance(10_001);
    await Promise.all(asked);
    expect(counted()).toBe(256);
  });

  it('W6: stops a plugin whose device names would fill the checkpoint, and still allocates devices of other plugins', async () => {
    await plug(['a']);
    const long = Array.from({ length: 33 }, (_, index) => `${index}-${'x'.repeat(1024 * 1024)}`);
    await plug(long, { resource: 'example.com/long' });
    const { capacity } = manager.resources();
    expect([capacity.has('example.com/long'), manager.allocatableDevices().has('example.com/long')]).toEqual([
      true,
      false,
    ]);
    expect(await manager.admit(podOf('u', [containerOf('main', { [GPU]: '1' })]), [], signal)).toEqual({ admit: true });
  });

  it('W6: stops a plugin whose device lists too many NUMA nodes, and still allocates devices of other plugins', async () => {
    await plug(['a']);
    const nodes = Array.from({ length: 300_000 }, (_, ID) => ({ ID }));
    const many = new FakeDevicePlugin({ resource: 'example.com/many', directory, transport, clock }, [
      { ID: 'x'.repeat(3_000), health: 'Healthy', topology: { nodes } },
    ]);
    await many.start();
    await many.register();
    await clock.settle();
    expect(manager.allocatableDevices().has('example.com/many')).toBe(false);
    expect(await manager.admit(podOf('u', [containerOf('main', { [GPU]: '1' })]), [], signal)).toEqual({ admit: true });
  });

  it("W6: does not encode all device names if a plugin's new list equals its previous list", async () => {
    const plugin = await plug(['a', 'b']);
    const asked = vi.spyOn(DeviceInventory.prototype, 'registered');
    plugin.setDevices(healthy('b', 'a'));
    await clock.advance(2_000);
    expect(asked).toHaveBeenCalledTimes(0);
    plugin.setDevices(healthy('b'));
    await clock.advance(2_000);
    expect(asked).toHaveBeenCalledTimes(1);
    asked.mockRestore();
  });

  it('handles only the newest list of a burst, and not before the minimum interval has passed', async () => {
    const plugin = await plug(['a', 'b']);
    for (const ids of [['a'], ['a', 'b', 'c'], ['c']]) {
      plugin.setDevices(healthy(...ids));
      await clock.settle();
    }
    await clock.advance(99);
    expect(amounts()).toEqual([2, 2]);
    await clock.advance(1);
    expect(amounts()).toEqual([1, 1]);
    expect([...(manager.allocatableDevices().get(GPU) ?? [])].map(({ id }) => id)).toEqual(['c']);
  });

  it('handles the last list of a plugin and the end of its stream without a delay', async () => {
    const plugin = await plug(['a']);
    for (const ids of [
      ['a', 'b'],
      ['a', 'b', 'c'],
    ]) {
      plugin.setDevices(healthy(...ids));
      await clock.settle();
    }
    plugin.endWatches();
    await clock.settle();
    expect(amounts()).toEqual([0, 3]);
  });

  it('W6: reads at most a thousand lists per second from a plugin that sends lists without end', async () => {
    let told = 0;
    const none = async (): Promise<object> => ({});
    const others = { allocate: none, getPreferredAllocation: none, preStartContainer: none };
    const endless = service(devicePluginRpcs, {
      ...{ ...others, getDevicePluginOptions: none },
      async *listAndWatch() {
        for (;;) yield { devices: healthy(`d${told++}`) };
      },
    });
    const plugin = new FakeDevicePlugin({ resource: GPU, directory, transport, clock, services: [endless] }, []);
    await plugin.start();
    await plugin.register();
    await clock.settle();
    expect(told).toBeLessThan(110);
    await clock.advance(1_000);
    expect([told < 1_110, amounts()]).toEqual([true, [1, 1]]);
    const newest = manager.allocatableDevices().get(GPU)?.[0]?.id.slice(1);
    expect(Number(newest)).toBeGreaterThan(told - 110);
  });

  it('W6: refuses a pod if the Allocate response would fill the checkpoint, with an error that names the plugin', async () => {
    await plug(['a'], { allocate: async () => ({ envs: { BIG: 'x'.repeat(300_000) } }) });
    const verdict = await manager.admit(podOf('u', [containerOf('main', { [GPU]: '1' })]), [], signal);
    expect(verdict).toMatchObject({
      reason: 'UnexpectedAdmissionError',
      message: expect.stringMatching(
        /the device plugin of example.com\/gpu at .*gpu.sock returned 3\d{5} bytes for Allocate/,
      ),
    });
    expect(manager.devicesOf('u', 'main').size).toBe(0);
  });
});

describe('device manager: allocation at container start', () => {
  it('W6, K5: does not scan all held devices for each resource that a pod requests', async () => {
    await plug(['a']);
    expect(await manager.admit(podOf('holder', [containerOf('main', { [GPU]: '1' })]), [], signal)).toEqual({
      admit: true,
    });
    const held = vi.spyOn(PodDevices.prototype, 'held');
    const unknown = Array.from({ length: 2000 }, (_none, index) => [`example.com/r${index}`, '1'] as const);
    const pod = podOf('u', [containerOf('main', Object.fromEntries(unknown))]);
    active = [pod];
    expect(await manager.admit(pod, [], signal)).toEqual({ admit: true });
    expect((await manager.containerDevices(pod, pod.spec.containers[0] as Container, signal)).devices).toEqual([]);
    expect(held.mock.calls.length).toBeLessThan(10);
    held.mockRestore();
  });

  it('N8: does not give the devices of an init container to two containers of the pod that start concurrently', async () => {
    const pod = podOf(
      'u',
      [containerOf('one', { [GPU]: '1' }), containerOf('two', { [GPU]: '1' })],
      [containerOf('init', { [GPU]: '1' })],
    );
    active = [pod];
    await plug(['a', 'b'], {
      allocate: async (ids) => {
        await sleep(clock, 10);
        return { envs: { IDS: ids.join() } };
      },
    });
    const given = async (name: string): Promise<string | undefined> => {
      const container = [...pod.spec.containers, ...(pod.spec.initContainers ?? [])].find((one) => one.name === name);
      const options = manager.containerDevices(pod, container ?? containerOf(name), signal);
      await clock.advance(20);
      return (await options).envs[0]?.value;
    };
    expect(await given('init')).toBe('a');
    expect(await Promise.all([given('one'), given('two')])).toEqual(['a', 'b']);
  });
});

describe('device manager: pods in admission that need the same devices', () => {
  const NIC = 'example.com/nic';

  it('an older pod is not rejected because of a younger pod that waits for the older one', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    await plug(['g'], {
      async allocate() {
        await promise;
        return {};
      },
    });
    await plug(['n'], { resource: NIC, socketName: 'nic.sock' });
    const older = manager.admit(podOf('older', [containerOf('main', { [GPU]: '1', [NIC]: '1' })]), [], signal);
    await clock.settle();
    const end = new AbortController();
    const younger = manager.admit(podOf('younger', [containerOf('main', { [NIC]: '1', [GPU]: '1' })]), [], end.signal);
    await clock.settle();
    expect(waits.at(-1)).toBe(`younger main: ${GPU}: an older pod that is not admitted yet holds devices`);
    expect(manager.devicesOf('younger', 'main').size).toBe(0);
    resolve();
    expect(await older).toEqual({ admit: true });
    end.abort(new Error('the pod is gone'));
    expect(await younger).toMatchObject({ admit: false });
  });

  it('an older pod keeps its devices while it waits for a younger pod that is getting a device', async () => {
    const gpus = Promise.withResolvers<void>();
    const nics = Promise.withResolvers<void>();
    await plug(['g'], {
      async allocate() {
        await gpus.promise;
        return {};
      },
    });
    await plug(['n'], {
      ...{ resource: NIC, socketName: 'nic.sock' },
      async allocate() {
        await nics.promise;
        throw new Error('broken');
      },
    });
    const older = manager.admit(podOf('older', [containerOf('main', { [GPU]: '1', [NIC]: '1' })]), [], signal);
    await clock.settle();
    const younger = manager.admit(podOf('younger', [containerOf('main', { [NIC]: '1' })]), [], signal);
    await clock.settle();
    gpus.resolve();
    await clock.settle();
    expect(waits.at(-1)).toBe(`older main: ${NIC}: a younger pod that is not admitted yet holds devices`);
    expect(manager.devicesOf('older', 'main').size).toBe(1);
    nics.resolve();
    expect(await younger).toMatchObject({ admit: false });
    expect(await older).toMatchObject({ admit: false, message: expect.stringContaining('broken') });
  });
});

describe('device manager: terminating pods', () => {
  it.each([
    ['has too few devices for the pod', ['a', 'b'], 2],
    ['has more devices than the pod needs, and enough other devices are free', ['a', 'b', 'c'], 1],
  ])('a pod does not wait for a terminating pod that %s', async (_what, devices, needed) => {
    await plug(devices);
    active = ['runs', 'old'].map((uid) => podOf(uid, [containerOf('main', { [GPU]: '1' })]));
    for (const pod of active) expect(await manager.admit(pod, [], signal)).toEqual({ admit: true });
    for (const pod of active) manager.admitted(pod);
    active = active.slice(0, 1);
    ending.add('old');
    const next = podOf('next', [containerOf('main', { [GPU]: `${needed}` })]);
    expect(await manager.waitedForHolder(next, signal)).toBe(false);
    expect(await manager.admit(next, [], signal)).toMatchObject({ admit: needed === 1 });
    expect(waits.filter((wait) => wait.includes('termination'))).toEqual([]);
  });

  it('N8: a terminating pod keeps its devices while its containers may run, and a new pod waits for the devices', async () => {
    await plug(['a']);
    ending.add('old');
    expect(await manager.admit(podOf('old', [containerOf('main', { [GPU]: '1' })]), [], signal)).toEqual({
      admit: true,
    });
    manager.admitted(podOf('old', []));
    let verdict: unknown;
    const next = Promise.resolve(manager.admit(podOf('next', [containerOf('main', { [GPU]: '1' })]), [], signal)).then(
      (answer) => {
        verdict = answer;
      },
    );
    await clock.advance(30_000);
    expect([verdict, waits.at(-1)]).toEqual([
      undefined,
      `next main: ${GPU}: termination of pod old, which holds devices until then`,
    ]);
    expect(manager.devicesOf('old', 'main').size).toBe(1);
    ending.clear();
    await clock.advance(250);
    await next;
    expect([verdict, manager.devicesOf('old', 'main').size, manager.devicesOf('next', 'main').size]).toEqual([
      { admit: true },
      0,
      1,
    ]);
    expect(clock.pendingTimers).toBe(0);
  });
});

describe('device manager: state of the node', () => {
  it('isNewNode is true until a checkpoint file exists or a plugin has reported its devices', async () => {
    const fs = new MemoryFileSystem({ clock });
    const pods = { active: () => [], sourcesReady: () => true };
    const unloaded = (): DeviceManager => new DeviceManager({ clock, fs, transport, pods }, { directory });
    expect(await unloaded().isNewNode()).toBe(true);
    expect(await manager.isNewNode()).toBe(true);
    await plug(['a']);
    expect(await manager.isNewNode()).toBe(false);
    await fs.mkdir(directory);
    await fs.writeFile(`${directory}/kubelet_internal_checkpoint`, 'nonsense');
    expect(await unloaded().isNewNode()).toBe(false);
  });

  it('K1: does not allocate devices of running pods to other pods if the checkpoint was unreadable at the restart', async () => {
    const fs = new MemoryFileSystem({ clock });
    const pods = { active: () => [], sourcesReady: () => false };
    const make = (): DeviceManager => new DeviceManager({ clock, fs, transport, pods }, { directory });
    stop.abort();
    await running;
    const kubelet = async (): Promise<DeviceManager> => {
      stop = new AbortController();
      const made = make();
      running = made.start(stop.signal);
      await clock.settle();
      return made;
    };
    const first = await kubelet();
    const plugin = await plug(['a']);
    const pod = podOf('u', [containerOf('main', { [GPU]: '1' })]);
    expect(await first.admit(pod, [], signal)).toEqual({ admit: true });
    stop.abort();
    await running;
    plugin.stop();
    const fault = fs.injectFault({ code: 'EIO', path: directory, times: Number.POSITIVE_INFINITY });
    const second = await kubelet();
    expect(await second.isNewNode()).toBe(false);
    await clock.advance(20_000);
    fault.remove();
    await clock.advance(1000);
    await plug(['a'], { socketName: 'again.sock' });
    expect(second.devicesOf('u', 'main').size).toBe(1);
    let verdict: unknown;
    const end = new AbortController();
    const admission = Promise.resolve(
      second.admit(podOf('other', [containerOf('main', { [GPU]: '1' })]), [], end.signal),
    ).then((answer) => {
      verdict = answer;
    });
    await clock.advance(60_000);
    expect(verdict).toBeUndefined();
    end.abort(new Error('the pod is gone'));
    await admission;
  });

  it('W6: records that a pod waits for a plugin or for the devices of an older pod', async () => {
    await plug(['a'], { allocate: () => new Promise(() => {}) });
    const ending = new AbortController();
    const older = manager.admit(podOf('older', [containerOf('main', { [GPU]: '1' })]), [], ending.signal);
    await clock.settle();
    const younger = manager.admit(podOf('younger', [containerOf('main', { [GPU]: '1' })]), [], ending.signal);
    await clock.settle();
    expect(waits).toEqual([
      `older main: ${GPU}: Allocate of the device plugin at ${directory}/example.com-gpu.sock`,
      `younger main: ${GPU}: an older pod that is not admitted yet holds devices`,
    ]);
    ending.abort(new Error('the pod is gone'));
    expect(await Promise.all([older, younger])).toMatchObject([{ admit: false }, { admit: false }]);
  });
});
