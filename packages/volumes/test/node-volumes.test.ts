import { FakeClock } from '@node-agent/async/testing';
import { MemoryFileSystem, memoryForeignFiles } from '@node-agent/host/testing';
import type { Pod } from '@node-agent/pod-spec';
import { noMetrics, silentLogger } from '@node-agent/telemetry';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type MountedVolume,
  type NodeVolume,
  type NodeVolumePlugin,
  PodPaths,
  type ResolvedVolume,
  VolumeError,
  VolumeManager,
  type VolumePlugin,
  type VolumeSpec,
} from '../src/index.ts';
import { errorOf, MemoryMounter, podOf, ROOT } from './helpers.ts';

/** The duration of each operation in milliseconds. */
const STEP_MS = 10;

/** State of the machine, which survives the kubelet process, and the rules that the process has violated. */
class Machine {
  readonly clock = new FakeClock();
  readonly fs = new MemoryFileSystem({ clock: this.clock });
  readonly running = new Set<string>();
  readonly log: string[] = [];
  readonly faults: string[] = [];
  /** The operations that fail, by name, for example `stage` or `setUp u1`. */
  readonly failing = new Set<string>();
  /** Operations that stay pending until their promise resolves. */
  readonly blocks = new Map<string, Promise<void>>();
  /** Whether the disk is staged, completely or partly. */
  staged = false;
  exclusive = false;

  directory(uid: string): string {
    return `${ROOT}/pods/${uid}/volumes/kubernetes.io~disk/disk`;
  }

  inPods(): string[] {
    return this.fs.paths().filter((path) => path.endsWith('kubernetes.io~disk/disk'));
  }
}

/** One disk that all pods use. Operations of a killed process stop. */
class DiskPlugin implements VolumePlugin {
  readonly name = 'kubernetes.io/disk';
  readonly node: NodeVolumePlugin;
  readonly #machine: Machine;
  #isKilled = false;

  constructor(machine: Machine) {
    this.#machine = machine;
    const { volume } = this;
    this.node = {
      stage: () => this.#stage(),
      unstage: () => this.#unstage(),
      reconstruct: async () => volume,
      staged: async () => {
        if (machine.failing.has('staged')) throw new VolumeError('Io', 'staged fails');
        return machine.staged ? [volume] : [];
      },
    };
  }

  get volume(): NodeVolume {
    return { uniqueName: 'kubernetes.io/disk/disk', name: 'disk', exclusive: this.#machine.exclusive };
  }

  kill(): void {
    this.#isKilled = true;
    this.#machine.running.clear();
  }

  canSupport(): boolean {
    return true;
  }

  async resolve(_pod: Pod, spec: VolumeSpec): Promise<ResolvedVolume> {
    if (this.#machine.failing.has('resolve')) throw new VolumeError('MissingObject', 'resolve fails');
    return { ...spec, directoryName: 'disk', node: { ...this.volume, spec } };
  }

  async #stage(): Promise<void> {
    const { running } = this.#machine;
    await this.#do('stage', () => {
      if (running.has('unstage') || running.has('stage')) return 'staged twice at once';
      this.#machine.staged = true;
      return undefined;
    });
  }

  async #unstage(): Promise<void> {
    const { running } = this.#machine;
    await this.#do('unstage', () => {
      const inPods = this.#machine.inPods();
      if (running.size > 0 || inPods.length > 0) return `unstaged while ${[...running, ...inPods].join()}`;
      return undefined;
    });
    this.#machine.staged = false;
  }

  async setUp({ metadata: { uid } }: Pod): Promise<MountedVolume> {
    const { running, fs } = this.#machine;
    const hostPath = this.#machine.directory(uid);
    await this.#do(`setUp ${uid}`, async () => {
      if (!this.#machine.staged || running.has('unstage')) return `${uid} set up before it was staged`;
      await fs.mkdir(hostPath);
      return undefined;
    });
    return { hostPath, readOnly: false, selinuxRelabel: false };
  }

  async tearDown(podUid: string): Promise<void> {
    await this.#do(`tearDown ${podUid}`, () => undefined);
    await this.#machine.fs.removeAll(this.#machine.directory(podUid));
  }

  isRemoving(): boolean {
    return false;
  }

  /**
   * Runs one operation of the disk. @param begin applies the first part of the operation's effect; returns the violated
   * rule, if any
   */
  async #do(what: string, begin: () => Promise<string | undefined> | string | undefined): Promise<void> {
    const { running, log, faults, failing, clock, blocks } = this.#machine;
    if (this.#isKilled) return await new Promise(() => {});
    if ([...running].some((other) => other.split(' ')[1] === what.split(' ')[1] && what.includes(' '))) {
      faults.push(`${what} while ${[...running].join()}`);
    }
    log.push(what);
    const fault = await begin();
    if (fault !== undefined) faults.push(fault);
    running.add(what);
    await new Promise<void>((resolve) => clock.setTimer(STEP_MS, resolve));
    await blocks.get(what);
    if (this.#isKilled) return await new Promise(() => {});
    running.delete(what);
    if (failing.has(what.split(' ')[0] ?? '') || failing.has(what)) throw new VolumeError('Io', `${what} fails`);
  }
}

function make() {
  const machine = new Machine();
  const { clock, fs } = machine;
  const events: string[] = [];
  const ready: string[] = [];
  const newManager = () => {
    const plugin = new DiskPlugin(machine);
    const life = new AbortController();
    const manager = new VolumeManager({
      clock,
      fs,
      foreignFiles: memoryForeignFiles({ clock, fs }),
      mounter: new MemoryMounter(fs),
      paths: new PodPaths(ROOT),
      plugins: [plugin],
      logger: silentLogger,
      metrics: noMetrics,
      recorder: {
        event: ({ name }, _type, reason, message) => void events.push(`${name} ${reason}: ${message}`),
      },
      onVolumeReady: (uid) => void ready.push(uid),
    });
    const running = manager.start(life.signal);
    return { plugin, manager, life, running };
  };
  return { machine, clock, events, ready, newManager, ...newManager(), signal: new AbortController().signal };
}

const podNamed = (uid: string): Pod => podOf([{ name: 'data', emptyDir: {} }], uid);

describe('a volume that several pods share', () => {
  it('a shared volume is staged once before its first pod, and unstaged after its last pod', async () => {
    const { machine, clock, manager, signal } = make();
    const mounting = ['u1', 'u2'].map((uid) => manager.waitForAttachAndMount(podNamed(uid), signal));
    await clock.advance(100);
    await Promise.all(mounting);
    expect(machine.log).toEqual(['stage', 'setUp u1', 'setUp u2']);
    expect(manager.volumePath(podNamed('u1'), 'data')).toBe(machine.directory('u1'));
    for (const uid of ['u1', 'u2']) {
      const ending = manager.waitForUnmount(podNamed(uid), signal);
      await clock.advance(100);
      await ending;
    }
    expect(machine.log.slice(3)).toEqual(['tearDown u1', 'tearDown u2', 'unstage']);
    expect([machine.staged, machine.faults]).toEqual([false, []]);
  });

  it('a shared volume is staged again if a pod arrives while it is being unstaged', async () => {
    const { machine, clock, manager, signal } = make();
    const mount = manager.waitForAttachAndMount(podNamed('u1'), signal);
    await clock.advance(100);
    await mount;
    const unmount = manager.waitForUnmount(podNamed('u1'), signal);
    await clock.advance(STEP_MS);
    await unmount;
    expect([...machine.running]).toEqual(['unstage']);
    const again = manager.waitForAttachAndMount(podNamed('u2'), signal);
    await clock.advance(100);
    await again;
    expect(machine.log.slice(3)).toEqual(['unstage', 'stage', 'setUp u2']);
    expect(machine.faults).toEqual([]);
  });

  it('a staging failure is reported to each waiting pod and retried after 500 ms, then after 1 s', async () => {
    const { machine, clock, manager, events, ready, signal } = make();
    machine.failing.add('stage');
    const mounting = ['u1', 'u2'].map((uid) => errorOf(manager.waitForAttachAndMount(podNamed(uid), signal)));
    await clock.advance(STEP_MS);
    const [first, second] = await Promise.all(mounting);
    const message = 'unmounted volumes=[data], unattached volumes=[], failed to process volumes=[]: stage fails';
    expect(first).toMatchObject({ message, retryAtMs: clock.monotonic() + 500, isReported: true });
    expect(second).toMatchObject({ message, retryAtMs: clock.monotonic() + 500 });
    const told = 'FailedMount: MountVolume.MountDevice failed for volume "disk" : stage fails';
    expect(events).toEqual([`pod-u1 ${told}`, `pod-u2 ${told}`]);
    // A sync before the retry time does not stage the volume.
    await errorOf(manager.waitForAttachAndMount(podNamed('u1'), signal));
    expect(machine.log).toEqual(['stage']);
    await clock.advance(500 + STEP_MS);
    expect([machine.log, events.length]).toEqual([['stage', 'stage'], 4]);
    machine.failing.clear();
    const third = manager.waitForAttachAndMount(podNamed('u1'), signal).catch(() => undefined);
    await clock.advance(1000 + 2 * STEP_MS);
    await third;
    expect(machine.log).toEqual(['stage', 'stage', 'stage', 'setUp u1', 'setUp u2']);
    expect(ready).toContain('u2');
  });

  it('C7: staging that hangs does not delay the removal of its pod; the volume is unstaged when staging has finished', async () => {
    const { machine, clock, manager, signal } = make();
    const block = Promise.withResolvers<void>();
    machine.blocks.set('stage', block.promise);
    const mounting = errorOf(manager.waitForAttachAndMount(podNamed('u1'), signal));
    await clock.advance(123_000);
    expect((await mounting).message).toContain('context deadline exceeded');
    await manager.waitForUnmount(podNamed('u1'), signal);
    expect(await manager.podVolumesExist('u1')).toBe(false);
    block.resolve();
    await clock.advance(100);
    expect(machine.log).toEqual(['stage', 'unstage']);
  });

  it('a failed unstaging is retried and delays no pod', async () => {
    const { machine, clock, manager, signal } = make();
    const mount = manager.waitForAttachAndMount(podNamed('u1'), signal);
    await clock.advance(100);
    await mount;
    machine.failing.add('unstage');
    const unmount = manager.waitForUnmount(podNamed('u1'), signal);
    await clock.advance(STEP_MS);
    await unmount;
    await clock.advance(100);
    machine.failing.clear();
    await clock.advance(1000);
    expect(machine.log.slice(2)).toEqual(['tearDown u1', 'unstage', 'unstage']);
    expect(machine.staged).toBe(false);
  });

  it('a ReadWriteOncePod volume is set up for a second pod after the first pod has released it', async () => {
    const { machine, clock, manager, signal } = make();
    machine.exclusive = true;
    const mounting = ['u1', 'u2'].map((uid) => manager.waitForAttachAndMount(podNamed(uid), signal));
    const second = errorOf(mounting[1] ?? Promise.resolve());
    await clock.advance(100);
    await mounting[0];
    expect(await second).toMatchObject({
      message: expect.stringContaining(
        'volume uses the ReadWriteOncePod access mode and is already in use by another pod',
      ),
    });
    const unmount = manager.waitForUnmount(podNamed('u1'), signal);
    await clock.advance(5000);
    await unmount;
    expect(machine.log).toEqual(['stage', 'setUp u1', 'tearDown u1', 'setUp u2']);
  });

  it('a volume whose PersistentVolume cannot be read fails its pod, and is read again after 500 ms at the earliest', async () => {
    const { machine, clock, manager, events, signal } = make();
    machine.failing.add('resolve');
    const error = await errorOf(manager.waitForAttachAndMount(podNamed('u1'), signal));
    expect(error).toMatchObject({
      message: 'unmounted volumes=[data], unattached volumes=[], failed to process volumes=[data]: resolve fails',
      retryAtMs: clock.monotonic() + 500,
      isReported: false,
    });
    machine.failing.clear();
    expect((await errorOf(manager.waitForAttachAndMount(podNamed('u1'), signal))).retryAtMs).toBe(error.retryAtMs);
    await clock.advance(500);
    const mounting = manager.waitForAttachAndMount(podNamed('u1'), signal);
    await clock.advance(100);
    await mounting;
    // The volume of a pod that is ready is not resolved again, so this failure has no effect.
    machine.failing.add('resolve');
    await manager.waitForAttachAndMount(podNamed('u1'), signal);
    expect([machine.log, events]).toEqual([['stage', 'setUp u1'], []]);
  });

  it('K1: after a restart, a staged volume is unstaged if no pod uses it, and kept if a pod uses it', async () => {
    const { machine, clock, manager, plugin, newManager, signal } = make();
    const mount = manager.waitForAttachAndMount(podNamed('u1'), signal);
    await clock.advance(100);
    await mount;
    plugin.kill();
    const second = newManager();
    await clock.advance(10_000);
    expect(machine.log).toEqual(['stage', 'setUp u1']);
    second.plugin.kill();
    await machine.fs.removeAll(machine.directory('u1'));
    newManager();
    await clock.advance(100);
    expect(machine.log.slice(2)).toEqual(['unstage']);
    expect([machine.staged, machine.faults]).toEqual([false, []]);
  });
});

it('K1: a volume that a previous process staged is unstaged after its last pod, even if listing staged volumes failed at first', async () => {
  const { machine, clock, manager, plugin, newManager, signal } = make();
  const mount = manager.waitForAttachAndMount(podNamed('u1'), signal);
  await clock.advance(100);
  await mount;
  plugin.kill();
  machine.failing.add('staged');
  const next = newManager().manager;
  await clock.advance(100);
  const unmount = next.waitForUnmount(podNamed('u1'), signal);
  await clock.advance(100);
  await unmount;
  expect([machine.log.slice(2), machine.staged, machine.faults]).toEqual([['tearDown u1', 'unstage'], false, []]);
});

const uid = fc.constantFrom('u1', 'u2', 'u3');
const command = fc.oneof(
  { weight: 4, arbitrary: fc.record({ what: fc.constant('mount' as const), uid }) },
  { weight: 3, arbitrary: fc.record({ what: fc.constant('unmount' as const), uid }) },
  { weight: 3, arbitrary: fc.record({ what: fc.constant('advance' as const), ms: fc.integer({ min: 0, max: 40 }) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      what: fc.constant('fail' as const),
      operation: fc.constantFrom('stage', 'unstage', 'setUp', 'tearDown'),
    }),
  },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('mend' as const) }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('kill' as const) }) },
);

it('K1: with random pods, failures and kills, a volume is staged before pods use it and converges to what its pods need', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(command, { maxLength: 30 }), async (commands) => {
      const { machine, clock, newManager, ...first } = make();
      let now: Pick<ReturnType<typeof newManager>, 'plugin' | 'manager'> = first;
      const wanted = new Set<string>();
      let sync = new AbortController();
      /** Runs one operation at a time for each pod, as the pod worker does. */
      const apply = (of: string): void => {
        const { manager } = now;
        const work = wanted.has(of)
          ? manager.waitForAttachAndMount(podNamed(of), sync.signal)
          : manager.waitForUnmount(podNamed(of), sync.signal);
        work.catch(() => undefined);
      };
      for (const each of commands) {
        if (each.what === 'mount') wanted.add(each.uid);
        if (each.what === 'unmount') wanted.delete(each.uid);
        if ('uid' in each) apply(each.uid);
        if (each.what === 'advance') await clock.advance(each.ms);
        if (each.what === 'fail') machine.failing.add(each.operation);
        if (each.what === 'mend') machine.failing.clear();
        if (each.what === 'kill') {
          now.plugin.kill();
          sync = new AbortController();
          now = newManager();
        }
        await clock.settle();
      }
      machine.failing.clear();
      for (const of of ['u1', 'u2', 'u3']) apply(of);
      await clock.advance(600_000);
      for (const of of ['u1', 'u2', 'u3']) apply(of);
      await clock.advance(1_000);
      expect(machine.faults).toEqual([]);
      expect(machine.inPods()).toEqual([...wanted].sort().map((of) => machine.directory(of)));
      expect(machine.staged).toBe(wanted.size > 0);
    }),
    { numRuns: 200 },
  );
});
