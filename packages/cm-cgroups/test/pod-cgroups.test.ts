import { FakeClock } from '@node-agent/async/testing';
import type { EventRecorder } from '@node-agent/telemetry';
import { beforeEach, describe, expect, test } from 'vitest';
import { type CgroupManager, openCgroups, PodCgroups } from '../src/index.ts';
import { FakeKernel } from './kernel.ts';
import { bestEffort, burstable, container, guaranteed, makePod } from './pods.ts';

const { signal } = new AbortController();

/** Returns the manager's methods as properties of an object, so that a test can omit some. */
function bound(manager: CgroupManager): CgroupManager {
  const names = ['path', 'parse', 'exists', 'missing', 'identity', 'create', 'update', 'read', 'destroy', 'children'];
  const methods = names.map((name) => [name, Reflect.get(manager, name).bind(manager)]);
  return { version: manager.version, ...Object.fromEntries(methods) };
}

describe.each([1, 2] as const)('pod cgroups on cgroup v%i', (version) => {
  let clock: FakeClock;
  let kernel: FakeKernel;
  let events: string[];
  const at = (controller: string, path: string): string => (version === 1 ? `/${controller}${path}` : path);
  const recorder: EventRecorder = { event: (_node, type, reason) => events.push(`${type} ${reason}`) };
  const make = (options: ConstructorParameters<typeof PodCgroups>[1] = {}): PodCgroups =>
    new PodCgroups({ open: () => openCgroups(kernel), clock, recorder }, options);
  const podGroups = (): string[] =>
    kernel.groups(version === 1 ? '/memory' : '').map((path) => path.replace(/^\/memory/, ''));

  beforeEach(async () => {
    clock = new FakeClock();
    kernel = new FakeKernel(clock, version);
    events = [];
    await kernel.boot();
  });

  test("one pod per QoS class yields upstream's cgroup tree", async () => {
    const cgroups = make({ limits: { memoryBytes: 1024 ** 3, cpuShares: 2048 } });
    const pods = [guaranteed('g'), burstable('b'), bestEffort('e')];
    for (const pod of pods) await cgroups.ensure(pod, signal);
    expect(podGroups()).toEqual([
      '/kubepods',
      '/kubepods/besteffort',
      '/kubepods/besteffort/pode',
      '/kubepods/burstable',
      '/kubepods/burstable/podb',
      '/kubepods/podg',
    ]);
    expect(pods.map((pod) => cgroups.podCgroupParent(pod))).toEqual([
      ...['/kubepods/podg', '/kubepods/burstable/podb', '/kubepods/besteffort/pode'],
    ]);
    const memory = version === 1 ? 'memory.limit_in_bytes' : 'memory.max';
    expect(await kernel.text(`${at('memory', '/kubepods')}/${memory}`)).toBe(String(1024 ** 3));
    expect(await kernel.text(`${at('memory', '/kubepods/podg')}/${memory}`)).toBe(String(10 * 1024 ** 2));
    expect(await cgroups.pods(signal)).toEqual(new Set(['g', 'b', 'e']));
    expect(await Promise.all(pods.map((pod) => cgroups.exists(pod, signal)))).toEqual([true, true, true]);
  });

  test('a pod with exclusive CPUs has no CPU quota', async () => {
    const hasExclusiveCpus = ({ metadata }: { readonly metadata: { readonly uid: string } }): boolean =>
      metadata.uid === 'x';
    const cgroups = new PodCgroups({ open: () => openCgroups(kernel), clock, recorder, hasExclusiveCpus });
    for (const uid of ['x', 'g']) await cgroups.ensure(guaranteed(uid), signal);
    const quota = (uid: string): Promise<string> =>
      kernel.text(`${at('cpu', `/kubepods/pod${uid}`)}/${version === 1 ? 'cpu.cfs_quota_us' : 'cpu.max'}`);
    expect(await quota('x')).toMatch(version === 1 ? /^-1/ : /^max /);
    expect(await quota('g')).toMatch(/^[1-9]/);
  });

  test('huge pages are limited to 0 for a pod that requests none, and unlimited for the QoS cgroups', async () => {
    const cgroups = make({ limits: { memoryBytes: 1024 ** 3, hugePageLimits: new Map([['2MB', 4096n]]) } });
    await cgroups.ensure(burstable('b'), signal);
    const file = version === 1 ? 'hugetlb.2MB.limit_in_bytes' : 'hugetlb.2MB.max';
    expect(await kernel.text(`${at('hugetlb', '/kubepods/burstable/podb')}/${file}`)).toBe('0');
    for (const group of ['/kubepods', '/kubepods/burstable', '/kubepods/besteffort'])
      expect(await kernel.text(`${at('hugetlb', group)}/${file}`)).toBe('4611686018427387904');
  });

  test('an existing cgroup with limits is not written again', async () => {
    const cgroups = make();
    expect(await cgroups.ensure(burstable('b'), signal)).toBe(true);
    const before = kernel.writes.length;
    expect(await cgroups.ensure(burstable('b'), signal)).toBe(false);
    expect(kernel.writes.length).toBe(before);
  });

  test('K1: a kubelet killed between creating a cgroup and setting its limits sets them after its restart', async () => {
    await (await openCgroups(kernel)).create(['kubepods', 'burstable', 'podb'], {});
    const cgroups = make({ podPidsLimit: 9 });
    expect(await cgroups.exists(burstable('b'), signal)).toBe(true);
    await cgroups.ensure(burstable('b'), signal);
    expect(await kernel.text(`${at('pids', '/kubepods/burstable/podb')}/pids.max`)).toBe('9');
  });

  test('a cgroup that another program removed is created again', async () => {
    const cgroups = make({ podPidsLimit: 9 });
    await cgroups.ensure(burstable('b'), signal);
    await (await openCgroups(kernel)).destroy(['kubepods', 'burstable', 'podb'], signal);
    await cgroups.ensure(burstable('b'), signal);
    expect(await kernel.text(`${at('pids', '/kubepods/burstable/podb')}/pids.max`)).toBe('9');
  });

  test('a cgroup that another program recreated gets its limits once', async () => {
    const cgroups = make({ podPidsLimit: 9 });
    await cgroups.ensure(guaranteed('g'), signal);
    const others = await openCgroups(kernel);
    await others.destroy(['kubepods', 'podg'], signal);
    await others.create(['kubepods', 'podg'], {});
    expect(await kernel.text(`${at('pids', '/kubepods/podg')}/pids.max`)).toBe('max');
    expect(await cgroups.ensure(guaranteed('g'), signal)).toBe(true);
    expect(await kernel.text(`${at('pids', '/kubepods/podg')}/pids.max`)).toBe('9');
    const memory = version === 1 ? 'memory.limit_in_bytes' : 'memory.max';
    expect(await kernel.text(`${at('memory', '/kubepods/podg')}/${memory}`)).toBe(String(10 * 1024 ** 2));
    const before = kernel.writes.length;
    expect(await cgroups.ensure(guaranteed('g'), signal)).toBe(false);
    expect(kernel.writes.length).toBe(before);
  });

  test('a cgroup counts as unchanged until another program removes or replaces it', async () => {
    const cgroups = make();
    const pod = burstable('b');
    const others = await openCgroups(kernel);
    expect(await cgroups.isEnsured(pod, signal)).toBe(false);
    await cgroups.ensure(pod, signal);
    expect(await cgroups.isEnsured(pod, signal)).toBe(true);
    await others.destroy(['kubepods', 'burstable', 'podb'], signal);
    expect(await cgroups.isEnsured(pod, signal)).toBe(false);
    await others.create(['kubepods', 'burstable', 'podb'], {});
    expect(await cgroups.isEnsured(pod, signal)).toBe(false);
    await cgroups.ensure(pod, signal);
    expect(await cgroups.isEnsured(pod, signal)).toBe(true);
    await cgroups.destroy('b', signal);
    expect(await cgroups.isEnsured(pod, signal)).toBe(false);
  });

  test('a cgroup whose limits another process has set does not count as unchanged', async () => {
    await make().ensure(burstable('b'), signal);
    expect(await make().isEnsured(burstable('b'), signal)).toBe(false);
  });

  test('a manager that cannot identify cgroups is queried for their existence', async () => {
    const cgroups = new PodCgroups({
      async open() {
        const { identity: _, ...rest } = bound(await openCgroups(kernel));
        return rest;
      },
    });
    expect(await cgroups.ensure(burstable('b'), signal)).toBe(true);
    expect(await cgroups.ensure(burstable('b'), signal)).toBe(false);
    await (await openCgroups(kernel)).destroy(['kubepods', 'burstable', 'podb'], signal);
    expect(await cgroups.ensure(burstable('b'), signal)).toBe(true);
  });

  test('a limit that cannot be set keeps the pod from starting until it can be set', async () => {
    const cgroups = make({ podPidsLimit: 9 });
    kernel.refuse = (path) => (path.endsWith('pids.max') ? 'EINVAL' : undefined);
    await expect(cgroups.ensure(burstable('b'), signal)).rejects.toMatchObject({ code: 'Refused' });
    kernel.refuse = () => undefined;
    await cgroups.ensure(burstable('b'), signal);
    expect(await kernel.text(`${at('pids', '/kubepods/burstable/podb')}/pids.max`)).toBe('9');
  });

  test('a resized pod gets its new limits', async () => {
    const cgroups = make();
    await cgroups.ensure(guaranteed('g'), signal);
    const more = { cpu: '100m', memory: '20Mi' };
    await cgroups.update(makePod('g', [container('c', more, more)]), signal);
    const memory = version === 1 ? 'memory.limit_in_bytes' : 'memory.max';
    expect(await kernel.text(`${at('memory', '/kubepods/podg')}/${memory}`)).toBe(String(20 * 1024 ** 2));
  });

  test("a pod's limits are read back once after they were set", async () => {
    const cgroups = make();
    const pod = guaranteed('g');
    await cgroups.ensure(pod, signal);
    expect(cgroups.knownLimits('g')).toBeUndefined();
    const limits = await cgroups.limits(pod, signal);
    expect(limits).toMatchObject({ memoryBytes: 10 * 1024 ** 2, cpuPeriodUs: 100_000 });
    expect(await cgroups.limits(pod, signal)).toBe(limits);
    expect(cgroups.knownLimits('g')).toBe(limits);
    const more = { cpu: '200m', memory: '20Mi' };
    const larger = makePod('g', [container('c', more, more)]);
    expect([cgroups.differs(pod), cgroups.differs(larger)]).toEqual([false, true]);
    await cgroups.update(larger, signal, { memoryBytes: cgroups.wanted(larger).memoryBytes ?? 0 });
    expect([cgroups.differs(pod), cgroups.differs(larger)]).toEqual([true, true]);
    expect(await cgroups.limits(pod, signal)).toMatchObject({
      memoryBytes: 20 * 1024 ** 2,
      cpuQuotaUs: limits.cpuQuotaUs,
    });
    await cgroups.update(larger, signal);
    expect(cgroups.differs(larger)).toBe(false);
    await cgroups.ensure(bestEffort('e'), signal);
    expect(await cgroups.limits(bestEffort('e'), signal)).toMatchObject({ cpuQuotaUs: -1, memoryBytes: -1 });
    await cgroups.destroy('g', signal);
    expect(cgroups.knownLimits('g')).toBeUndefined();
  });

  test("K1: limits of a previous process's cgroup are raised immediately, and lowered after its containers' limits", async () => {
    await make().ensure(guaranteed('g'), signal);
    const limit = version === 1 ? 'memory.limit_in_bytes' : 'memory.max';
    const memory = (): Promise<string> => kernel.text(`${at('memory', '/kubepods/podg')}/${limit}`);
    const [less, more] = [
      { cpu: '200m', memory: '5Mi' },
      { cpu: '300m', memory: '20Mi' },
    ];
    const smaller = makePod('g', [container('c', less, less)]);
    // These cgroups belong to another process, which has no record of the pod's cgroup.
    const cgroups = make({ podPidsLimit: 9 });
    expect(await cgroups.ensure(smaller, signal)).toBe(true);
    expect(await memory()).toBe(String(10 * 1024 ** 2));
    expect(await kernel.text(`${at('pids', '/kubepods/podg')}/pids.max`)).toBe('9');
    expect([await cgroups.ensure(smaller, signal), cgroups.differs(smaller)]).toEqual([false, true]);
    await cgroups.update(smaller, signal);
    expect([await memory(), cgroups.differs(smaller)]).toEqual([String(5 * 1024 ** 2), false]);

    const larger = makePod('g', [container('c', more, more)]);
    const third = make();
    await third.ensure(larger, signal);
    expect([await memory(), third.differs(larger)]).toEqual([String(20 * 1024 ** 2), false]);
  });

  test('a destroyed pod is removed from whichever QoS class it is in, and other pods stay', async () => {
    const cgroups = make();
    for (const pod of [guaranteed('g'), burstable('b'), bestEffort('e')]) await cgroups.ensure(pod, signal);
    await kernel.enter(at('memory', '/kubepods/burstable/podb'), 77);
    await cgroups.destroy('b', signal);
    expect(kernel.killed).toEqual([77]);
    expect(await cgroups.pods(signal)).toEqual(new Set(['g', 'e']));
    await cgroups.destroy('b', signal);
    await cgroups.destroy('no_such/pod', signal);
  });

  test('a pod recreated with the same UID waits until the old cgroup is removed', async () => {
    const cgroups = make();
    await cgroups.ensure(burstable('b'), signal);
    await kernel.enter(at('memory', '/kubepods/burstable/podb'), 77);
    kernel.stuck.add(77);
    const destroying = cgroups.destroy('b', signal);
    await clock.settle();
    const ensuring = cgroups.ensure(burstable('b'), signal);
    kernel.stuck.clear();
    await clock.advance(2000);
    await destroying;
    await ensuring;
    expect(await cgroups.exists(burstable('b'), signal)).toBe(true);
  });

  test('a UID that is invalid in a cgroup name fails only its own pod (W3)', async () => {
    const cgroups = make();
    await expect(cgroups.ensure(burstable('../../b'), signal)).rejects.toMatchObject({ code: 'InvalidName' });
    expect(await cgroups.pods(signal)).toEqual(new Set());
  });

  test("QoS cgroups get the sum of their pods' shares", async () => {
    const cgroups = make();
    await cgroups.updateQos([burstable('b', '1'), guaranteed('g')], signal);
    const [file, whole, least] = version === 1 ? ['cpu.shares', '1024', '2'] : ['cpu.weight', '39', '1'];
    expect(await kernel.text(`${at('cpu', '/kubepods/burstable')}/${file}`)).toBe(whole);
    expect(await kernel.text(`${at('cpu', '/kubepods/besteffort')}/${file}`)).toBe(least);
  });

  test('QoS cgroups are written if their limits change, and within a minute if their limits were reset', async () => {
    const cgroups = make();
    const file = version === 1 ? 'cpu.shares' : 'cpu.weight';
    const written = async (pods: Parameters<PodCgroups['updateQos']>[0]): Promise<readonly string[]> => {
      const before = kernel.writes.length;
      await cgroups.updateQos(pods, signal);
      return kernel.writes.slice(before).map((write) => write.slice(write.indexOf('/kubepods')));
    };
    const both = [expect.stringContaining(`/burstable/${file}=`), expect.stringContaining(`/besteffort/${file}=`)];
    await cgroups.updateQos([], signal);
    expect(await written([burstable('b', '1')])).toEqual(both);
    expect(await written([burstable('b', '1'), bestEffort('e')])).toEqual([]);
    expect(await written([burstable('b', '2'), bestEffort('e')])).toEqual(both);
    await clock.advance(60_000);
    expect(await written([burstable('b', '2')])).toEqual([]);
    const fresh = version === 1 ? '1024' : '100';
    const path = `${at('cpu', '/kubepods/burstable')}/${file}`;
    await kernel.memory.writeFile(`/sys/fs/cgroup${path}`, '77\n');
    await clock.advance(60_000);
    expect(await written([burstable('b', '2')])).toEqual([]);
    await kernel.memory.writeFile(`/sys/fs/cgroup${path}`, `${fresh}\n`);
    await clock.advance(60_000);
    expect(await written([burstable('b', '2')])).toEqual(both.slice(0, 1));
  });

  test('QoS cgroups are written again after a failed write', async () => {
    const cgroups = make();
    await cgroups.updateQos([], signal);
    kernel.refuse = (path) => (path.includes('/burstable/') ? 'EIO' : undefined);
    await expect(cgroups.updateQos([burstable('b', '1')], signal)).rejects.toMatchObject({ code: 'Refused' });
    kernel.refuse = () => undefined;
    await cgroups.updateQos([], signal);
    await cgroups.updateQos([burstable('b', '1')], signal);
    const [name, whole] = version === 1 ? ['cpu.shares', '1024'] : ['cpu.weight', '39'];
    expect(await kernel.text(`${at('cpu', '/kubepods/burstable')}/${name}`)).toBe(whole);
  });

  describe('memory reserved for higher QoS classes (QOSReserved)', () => {
    const file = version === 1 ? 'memory.limit_in_bytes' : 'memory.max';
    const MI = 1024 ** 2;
    const limits = async (): Promise<readonly number[]> =>
      (
        await Promise.all(
          ['burstable', 'besteffort'].map((name) => kernel.text(`${at('memory', `/kubepods/${name}`)}/${file}`)),
        )
      ).map(Number);
    const setUsage = (name: string, bytes: number): Promise<void> =>
      kernel.memory.writeFile(
        `/sys/fs/cgroup${at('memory', `/kubepods/${name}`)}/${version === 1 ? 'memory.usage_in_bytes' : 'memory.current'}`,
        `${bytes}\n`,
      );
    const pods = [guaranteed('g'), makePod('b', [container('c', { memory: '20Mi' })]), bestEffort('e')];

    test('memory reserved for higher classes is subtracted from the limits of lower classes', async () => {
      const cgroups = make({ qosReserved: { memoryPercent: 50, allocatableBytes: BigInt(100 * MI) } });
      await cgroups.updateQos(pods, signal);
      expect(await limits()).toEqual([95 * MI, 85 * MI]);
      await cgroups.updateQos([], signal);
      expect(await limits()).toEqual([100 * MI, 100 * MI]);
    });

    test('a QOSReserved limit below the current usage is raised to the usage and kills nothing', async () => {
      const cgroups = make({ qosReserved: { memoryPercent: 100, allocatableBytes: BigInt(100 * MI) } });
      await cgroups.updateQos([], signal);
      await setUsage('besteffort', 90 * MI);
      // A v1 kernel refuses a limit below the usage in this way.
      kernel.refuse = (path, value) =>
        path.endsWith(`/besteffort/${file}`) && Number(value) < 90 * MI ? 'EBUSY' : undefined;
      await cgroups.updateQos(pods, signal);
      expect(await limits()).toEqual([90 * MI, 90 * MI]);
      expect(kernel.writes.filter((write) => write.includes(`besteffort/${file}=`)).at(-1)).toMatch(/=94371840$/);
    });

    test('QOSReserved sets the minimum limit if requests exceed the capacity', async () => {
      const cgroups = make({ qosReserved: { memoryPercent: 100, allocatableBytes: BigInt(10 * MI) } });
      await cgroups.updateQos(pods, signal);
      expect(await limits()).toEqual([MI, MI]);
    });

    test('QOSReserved sets no limit if the capacity is unknown or the gate is off', async () => {
      const before = version === 1 ? Number('9223372036854771712') : Number.NaN;
      await make({ qosReserved: { memoryPercent: 50, allocatableBytes: 0n } }).updateQos(pods, signal);
      expect(await limits()).toEqual([before, before]);
      await make().updateQos(pods, signal);
      expect(await limits()).toEqual([before, before]);
    });
  });

  test('a pod that waits for its volumes to be removed keeps the minimum CPU shares', async () => {
    const cgroups = make();
    await cgroups.ensure(guaranteed('g'), signal);
    await cgroups.reduceCpu('g', signal);
    const [file, least] = version === 1 ? ['cpu.shares', '2'] : ['cpu.weight', '1'];
    expect(await kernel.text(`${at('cpu', '/kubepods/podg')}/${file}`)).toBe(least);
  });

  test('all cgroups are below the configured root, which must exist', async () => {
    const cgroups = make({ cgroupRoot: '/mine/deep' });
    await expect(cgroups.ensure(burstable('b'), signal)).rejects.toMatchObject({
      code: 'MissingRoot',
      message: expect.stringContaining('/mine/deep'),
    });
    await (await openCgroups(kernel)).create(['mine', 'deep'], {});
    await cgroups.ensure(burstable('b'), signal);
    expect(cgroups.podCgroupParent(burstable('b'))).toBe('/mine/deep/kubepods/burstable/podb');
    expect(podGroups().filter((path) => path.includes('pod'))).toEqual([
      ...['/mine/deep/kubepods', '/mine/deep/kubepods/besteffort'],
      ...['/mine/deep/kubepods/burstable', '/mine/deep/kubepods/burstable/podb'],
    ]);
  });

  test("a node limit below the pods' usage is reported once, and applied when usage has fallen", async () => {
    const file = version === 1 ? 'memory.limit_in_bytes' : 'memory.max';
    kernel.refuse = (path) => (path.endsWith(`/kubepods/${file}`) ? 'EBUSY' : undefined);
    const cgroups = make({ limits: { memoryBytes: 4096 } });
    const ending = new AbortController();
    const running = cgroups.start(ending.signal);
    await clock.advance(130_000);
    kernel.refuse = () => undefined;
    await clock.advance(130_000);
    ending.abort();
    await running;
    expect(events).toEqual([...['Warning FailedNodeAllocatableEnforcement', 'Normal NodeAllocatableEnforced']]);
    expect(await kernel.text(`${at('memory', '/kubepods')}/${file}`)).toBe('4096');
  });

  test('K2: the kubelet retries a runtime that does not report its cgroup driver yet', async () => {
    let there = false;
    const cgroups = new PodCgroups({
      clock,
      async open() {
        if (!there) throw new Error('not yet');
        return await openCgroups(kernel);
      },
    });
    const ending = new AbortController();
    const running = cgroups.start(ending.signal);
    await clock.advance(3000);
    await expect(cgroups.ensure(burstable('b'), signal)).rejects.toMatchObject({ code: 'Io', message: 'not yet' });
    there = true;
    await clock.advance(1000);
    expect(podGroups()).toContain('/kubepods/burstable');
    await cgroups.ensure(burstable('b'), signal);
    expect(await cgroups.pods(signal)).toEqual(new Set(['b']));
    ending.abort();
    await running;
  });

  test('an error that waiting cannot resolve fails the start immediately', async () => {
    await expect(make({ cgroupRoot: '/nowhere' }).start(signal)).rejects.toMatchObject({ code: 'MissingRoot' });
  });

  test('a running pod above its new limit continues, and the limit is retried', async () => {
    const file = version === 1 ? 'memory.limit_in_bytes' : 'memory.max';
    const cgroups = make({ podPidsLimit: 9 });
    kernel.refuse = (path) => (path.endsWith(`/podg/${file}`) ? 'EBUSY' : undefined);
    await cgroups.ensure(guaranteed('g'), signal);
    expect(await kernel.text(`${at('pids', '/kubepods/podg')}/pids.max`)).toBe('9');
    kernel.refuse = () => undefined;
    await cgroups.ensure(guaranteed('g'), signal);
    expect(await kernel.text(`${at('memory', '/kubepods/podg')}/${file}`)).toBe(String(10 * 1024 ** 2));
  });
});
