import { FakeClock } from '@node-agent/async/testing';
import { MemoryFileSystem, memoryForeignFiles } from '@node-agent/host/testing';
import type { Pod, Volume } from '@node-agent/pod-spec';
import { type MetricOptions, type Metrics, silentLogger } from '@node-agent/telemetry';
import { describe, expect, it } from 'vitest';
import {
  type MountedVolume,
  PodPaths,
  type ResolvedVolume,
  VolumeError,
  VolumeManager,
  type VolumePlugin,
} from '../src/index.ts';
import { errorOf, MemoryMounter, podOf, ROOT } from './helpers.ts';

/** A volume plugin that the test controls; it handles all volumes. */
class ScriptedPlugin implements VolumePlugin {
  readonly name = 'kubernetes.io/scripted';
  readonly refreshes = true;
  readonly log: string[] = [];
  /** The failures of operations, by name, for example `setUp a`. */
  readonly failures = new Map<string, string>();
  /** Operations that stay pending until their promise resolves. */
  readonly blocks = new Map<string, Promise<void>>();
  readonly #clock: FakeClock;
  readonly #fs: MemoryFileSystem;

  constructor(clock: FakeClock, fs: MemoryFileSystem) {
    this.#clock = clock;
    this.#fs = fs;
  }

  canSupport(): boolean {
    return true;
  }

  async setUp({ metadata }: Pod, { volume: { name } }: ResolvedVolume): Promise<MountedVolume> {
    await this.#do(`setUp ${name}`);
    const hostPath = `${ROOT}/pods/${metadata.uid}/volumes/kubernetes.io~scripted/${name}`;
    await this.#fs.mkdir(hostPath);
    return { hostPath, readOnly: false, selinuxRelabel: false };
  }

  async tearDown(podUid: string, name: string): Promise<void> {
    await this.#do(`tearDown ${name}`);
    await this.#fs.removeAll(`${ROOT}/pods/${podUid}/volumes/kubernetes.io~scripted/${name}`);
  }

  isRemoving(directoryName: string): boolean {
    return directoryName.startsWith('removing-');
  }

  async #do(what: string): Promise<void> {
    this.log.push(`${this.#clock.monotonic()} ${what}`);
    await this.blocks.get(what);
    const failure = this.failures.get(what);
    if (failure !== undefined) throw new VolumeError('MissingObject', failure);
  }
}

function make() {
  const clock = new FakeClock();
  const fs = new MemoryFileSystem({ clock });
  const plugin = new ScriptedPlugin(clock, fs);
  const events: string[] = [];
  const ready: string[] = [];
  const gauges = new Map<string, number>();
  const durations: string[] = [];
  const metrics: Metrics = {
    counter: ({ name }: MetricOptions<string>) => ({
      inc: (_labels: object, by = 1) => void gauges.set(name, (gauges.get(name) ?? 0) + by),
    }),
    gauge: ({ name }: MetricOptions<string>) => ({
      set: (labels: object, value: number) => void gauges.set([name, ...Object.values(labels)].join(' '), value),
    }),
    histogram: ({ name }: MetricOptions<string>) => ({
      observe: (labels: object) => void durations.push([name, ...Object.values(labels)].join(' ')),
    }),
  };
  const newManager = (): VolumeManager =>
    new VolumeManager({
      clock,
      fs,
      foreignFiles: memoryForeignFiles({ clock, fs }),
      mounter: new MemoryMounter(fs),
      paths: new PodPaths(ROOT),
      plugins: [plugin],
      logger: silentLogger,
      metrics,
      recorder: { event: (_object, _type, reason, message) => void events.push(`${reason}: ${message}`) },
      onVolumeReady: (uid) => void ready.push(uid),
    });
  const { signal } = new AbortController();
  return { clock, fs, plugin, events, ready, gauges, durations, newManager, manager: newManager(), signal };
}

const volumes = (...names: string[]): Volume[] => names.map((name) => ({ name, emptyDir: {} }));

describe('a volume whose setup fails', () => {
  it('a failed volume setup is retried after 500 ms, then after 1 s; each failure emits an event, and success is notified once', async () => {
    const { clock, manager, plugin, events, ready, signal } = make();
    plugin.failures.set('setUp a', 'secret "s" not found');
    const error = await errorOf(manager.waitForAttachAndMount(podOf(volumes('a')), signal));
    expect(error).toMatchObject({ code: 'NotMounted', retryAtMs: clock.monotonic() + 500 });
    const again = await errorOf(manager.waitForAttachAndMount(podOf(volumes('a')), signal));
    expect(again.message).toBe(error.message);
    const start = clock.monotonic();
    await clock.advance(3600);
    plugin.failures.clear();
    await clock.advance(10_000);
    const times = plugin.log.map((line) => Number(line.split(' ')[0]) - start);
    expect(times).toEqual([0, 500, 1500, 3500, 7500]);
    expect(events).toEqual(
      Array(4).fill('FailedMount: MountVolume.SetUp failed for volume "a" : secret "s" not found'),
    );
    expect(ready).toEqual(['u1']);
    await manager.waitForAttachAndMount(podOf(volumes('a')), signal);
    expect(manager.volumePath(podOf([]), 'a')).toMatch(/\/a$/);
  });

  it('a failed volume emits an event per failure, and its pod emits one after each two minutes of waiting', async () => {
    const { clock, manager, plugin, signal } = make();
    plugin.failures.set('setUp a', 'not found');
    const told: number[] = [];
    for (let second = 0; second <= 300; second++) {
      const error = await errorOf(manager.waitForAttachAndMount(podOf(volumes('a')), signal));
      if (!error.isReported) told.push(second);
      await clock.advance(1000);
    }
    expect(told).toEqual([123, 246]);
    await manager.waitForUnmount(podOf(volumes('a')), signal);
    expect((await errorOf(manager.waitForAttachAndMount(podOf(volumes('a')), signal))).isReported).toBe(true);
  });

  it("a failed volume setup is retried immediately after the pod's volume source has changed", async () => {
    const { clock, manager, plugin, ready, signal } = make();
    plugin.failures.set('setUp a', 'not found');
    await errorOf(manager.waitForAttachAndMount(podOf(volumes('a')), signal));
    await clock.advance(60_000);
    plugin.failures.clear();
    expect(ready).toEqual([]);
    manager.refresh('u1');
    await clock.settle();
    expect(ready).toEqual(['u1']);
  });

  it('a failed volume delays no other volume, and its back-off starts from 500 ms after its pod was removed', async () => {
    const { clock, manager, plugin, signal } = make();
    plugin.failures.set('setUp a', 'not found');
    const error = await errorOf(manager.waitForAttachAndMount(podOf(volumes('a', 'b')), signal));
    expect(error.message).toContain('unmounted volumes=[a],');
    expect(manager.volumePath(podOf([]), 'b')).toMatch(/\/b$/);
    await manager.waitForUnmount(podOf(volumes('a', 'b')), signal);
    expect(plugin.log.map((line) => line.replace(/^\S+ /, ''))).toEqual([
      'setUp a',
      'setUp b',
      'tearDown a',
      'tearDown b',
    ]);
    await clock.advance(300_000);
    expect(plugin.log).toHaveLength(4);
  });
});

describe('C7: a volume whose setup hangs', () => {
  it("a hanging volume setup delays no other volume, fails its pod's sync after 123 s, and is reported when it ends", async () => {
    const { clock, manager, plugin, ready, signal } = make();
    const block = Promise.withResolvers<void>();
    plugin.blocks.set('setUp slow', block.promise);
    const waiting = errorOf(manager.waitForAttachAndMount(podOf(volumes('slow', 'b')), signal));
    await manager.waitForAttachAndMount(podOf(volumes('c'), 'u2'), signal);
    await clock.settle();
    expect(manager.volumePath(podOf([]), 'b')).toMatch(/\/b$/);
    await clock.advance(122_999);
    const second = errorOf(manager.waitForAttachAndMount(podOf(volumes('slow', 'b')), signal));
    await clock.advance(1);
    expect(await waiting).toMatchObject({
      message:
        'unmounted volumes=[slow], unattached volumes=[], failed to process volumes=[]: context deadline exceeded',
      isReported: false,
    });
    await clock.advance(123_000);
    await second;
    expect(ready).toEqual([]);
    block.resolve();
    await clock.settle();
    expect(ready).toEqual(['u1']);
    // A second set-up follows, because the second sync requires content that is at least as new as that sync.
    expect(plugin.log.filter((line) => line.endsWith('setUp slow'))).toEqual(['0 setUp slow', '246000 setUp slow']);
  });

  it('a volume whose setup hung is torn down after the setup ends, even if its pod was removed earlier', async () => {
    const { clock, manager, plugin, signal, gauges } = make();
    const block = Promise.withResolvers<void>();
    plugin.blocks.set('setUp slow', block.promise);
    const sync = new AbortController();
    const waiting = manager.waitForAttachAndMount(podOf(volumes('slow')), sync.signal);
    sync.abort(new Error('the pod goes'));
    await expect(waiting).rejects.toThrow('the pod goes');
    const gone = manager.waitForUnmount(podOf(volumes('slow')), signal);
    await clock.advance(1000);
    expect(plugin.log).toHaveLength(1);
    block.resolve();
    await gone;
    expect(await manager.podVolumesExist('u1')).toBe(false);
    expect(gauges.get('volume_manager_total_volumes kubernetes.io/scripted actual_state_of_world')).toBe(0);
  });
});

it('a volume that cannot be mounted counts in the desired state of the world only', async () => {
  const { clock, manager, plugin, gauges, signal } = make();
  plugin.failures.set('setUp a', 'no answer');
  await errorOf(manager.waitForAttachAndMount(podOf(volumes('a')), signal));
  const counts = () =>
    ['desired', 'actual'].map((state) =>
      gauges.get(`volume_manager_total_volumes kubernetes.io/scripted ${state}_state_of_world`),
    );
  expect(counts()).toEqual([1, 0]);
  plugin.failures.clear();
  await clock.advance(500);
  expect(counts()).toEqual([1, 1]);
});

describe('volumes whose files are updated', () => {
  it('a sync of a ready pod starts the update of its configMap volume and does not wait for it', async () => {
    const { clock, manager, plugin, signal } = make();
    await manager.waitForAttachAndMount(podOf(volumes('a')), signal);
    plugin.blocks.set('setUp a', new Promise(() => {}));
    await manager.waitForAttachAndMount(podOf(volumes('a')), signal);
    await manager.waitForAttachAndMount(podOf(volumes('a')), signal);
    await clock.settle();
    expect(plugin.log).toHaveLength(2);
    expect(manager.volumePath(podOf([]), 'a')).toMatch(/\/a$/);
  });

  it('a configMap that changes while its volume is being updated causes a second update', async () => {
    const { clock, manager, plugin, signal } = make();
    await manager.waitForAttachAndMount(podOf(volumes('a')), signal);
    const block = Promise.withResolvers<void>();
    plugin.blocks.set('setUp a', block.promise);
    for (let i = 0; i < 3; i++) manager.refresh('u1');
    await clock.settle();
    expect(plugin.log).toHaveLength(2);
    plugin.blocks.clear();
    block.resolve();
    await clock.settle();
    expect(plugin.log).toHaveLength(3);
    manager.refresh('nobody');
  });
});

describe('a volume whose teardown fails', () => {
  it('a failed volume teardown is retried without a pod sync, and the pod worker is notified', async () => {
    const { clock, manager, plugin, signal } = make();
    await manager.waitForAttachAndMount(podOf(volumes('a')), signal);
    plugin.failures.set('tearDown a', 'busy');
    const error = await errorOf(manager.waitForUnmount(podOf([]), signal));
    expect(error).toMatchObject({ code: 'StillMounted', retryAtMs: clock.monotonic() + 500 });
    expect(error.message).toBe('mounted volumes of pod u1: a: busy');
    plugin.failures.clear();
    await clock.advance(500);
    expect(await manager.podVolumesExist('u1')).toBe(false);
    await manager.waitForUnmount(podOf([]), signal);
  });

  it('a volume that is being torn down is set up again if its pod needs it again', async () => {
    const { clock, manager, plugin, signal } = make();
    await manager.waitForAttachAndMount(podOf(volumes('a')), signal);
    plugin.failures.set('tearDown a', 'busy');
    await errorOf(manager.waitForUnmount(podOf([]), signal));
    await manager.waitForAttachAndMount(podOf(volumes('a')), signal);
    plugin.failures.clear();
    await clock.advance(300_000);
    expect(plugin.log.map((line) => line.replace(/^\S+ /, ''))).toEqual(['setUp a', 'tearDown a', 'setUp a']);
  });
});

describe('the actual state of the world after a restart', () => {
  it('K1: after a restart, mounted volumes are found on the disk, and none is changed before its pod is known', async () => {
    const { clock, manager, newManager, plugin, gauges, signal } = make();
    await manager.waitForAttachAndMount(podOf(volumes('a', 'b')), signal);
    const actual = 'volume_manager_total_volumes kubernetes.io/scripted actual_state_of_world';
    const desired = 'volume_manager_total_volumes kubernetes.io/scripted desired_state_of_world';
    expect([gauges.get(actual), gauges.get(desired)]).toEqual([2, 2]);
    const next = newManager();
    const life = new AbortController();
    const running = next.start(life.signal);
    await clock.advance(1000);
    expect([gauges.get(actual), gauges.get(desired)]).toEqual([0, 0]);
    expect(gauges.get('reconstruct_volume_operations_total')).toBe(2);
    expect(gauges.get('reconstruct_volume_operations_errors_total')).toBeUndefined();
    expect(plugin.log).toHaveLength(2);
    await next.waitForAttachAndMount(podOf(volumes('a', 'b')), signal);
    expect([gauges.get(actual), gauges.get(desired)]).toEqual([2, 2]);
    life.abort();
    await running;
  });

  it('W6: after a restart, a hanging removal that an earlier process began does not delay the volumes of other pods', async () => {
    const { clock, fs, manager, newManager, plugin, gauges, signal } = make();
    await fs.mkdir(`${ROOT}/pods/p/volumes/kubernetes.io~scripted/removing-a`);
    await manager.waitForAttachAndMount(podOf(volumes('a', 'b')), signal);
    const removal = Promise.withResolvers<void>();
    plugin.blocks.set('tearDown removing-a', removal.promise);
    const life = new AbortController();
    const running = newManager().start(life.signal);
    await clock.advance(1000);
    expect(gauges.get('reconstruct_volume_operations_total')).toBe(2);
    removal.resolve();
    await clock.advance(1000);
    expect(gauges.get('reconstruct_volume_operations_total')).toBe(3);
    expect(gauges.get('reconstruct_volume_operations_errors_total')).toBeUndefined();
    life.abort();
    await running;
  });

  it('W6: the volume manager stops even if a removal that an earlier process began hangs', async () => {
    const { clock, fs, newManager, plugin } = make();
    await fs.mkdir(`${ROOT}/pods/p/volumes/kubernetes.io~scripted/removing-a`);
    plugin.blocks.set('tearDown removing-a', new Promise(() => {}));
    const life = new AbortController();
    const running = newManager().start(life.signal);
    await clock.advance(1000);
    expect(plugin.log).toHaveLength(1);
    life.abort();
    await running;
  });

  it('counts leftover volumes of an earlier process that cannot be reconstructed', async () => {
    const { clock, fs, newManager, plugin, gauges } = make();
    await fs.mkdir(`${ROOT}/pods/p/volumes/kubernetes.io~scripted/removing-a`);
    plugin.failures.set('tearDown removing-a', 'busy');
    const life = new AbortController();
    const running = newManager().start(life.signal);
    await clock.advance(1000);
    expect(gauges.get('reconstruct_volume_operations_total')).toBe(1);
    expect(gauges.get('reconstruct_volume_operations_errors_total')).toBe(1);
    life.abort();
    await running;
  });

  it('a stopped volume manager retries no volume operation', async () => {
    const { clock, manager, plugin, signal } = make();
    const life = new AbortController();
    const running = manager.start(life.signal);
    plugin.failures.set('setUp a', 'not found');
    await errorOf(manager.waitForAttachAndMount(podOf(volumes('a')), signal));
    life.abort();
    await running;
    await clock.advance(10_000);
    expect(plugin.log).toHaveLength(1);
  });

  it("volume operations are counted and timed in upstream's metrics", async () => {
    const { manager, plugin, durations, signal } = make();
    plugin.failures.set('setUp b', 'not found');
    await errorOf(manager.waitForAttachAndMount(podOf(volumes('a', 'b')), signal));
    await manager.waitForUnmount(podOf([]), signal);
    const name = 'storage_operation_duration_seconds kubernetes.io/scripted';
    expect(durations).toEqual([
      `${name} verify_controller_attached_volume success false`,
      `${name} verify_controller_attached_volume success false`,
      `${name} volume_mount fail-unknown false`,
      `${name} volume_mount success false`,
      `${name} volume_unmount success false`,
      `${name} volume_unmount success false`,
    ]);
  });
});
