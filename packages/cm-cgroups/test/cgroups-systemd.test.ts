import { FakeClock } from '@node-agent/async/testing';
import { DbusError } from '@node-agent/dbus';
import { beforeEach, describe, expect, test } from 'vitest';
import { type CgroupManager, openCgroups, PodCgroups } from '../src/index.ts';
import { FakeKernel } from './kernel.ts';
import { bestEffort, burstable, guaranteed } from './pods.ts';
import { FakeSystemd } from './systemd/fake-systemd.ts';

const POD = ['kubepods', 'burstable', 'pod1-2'];
const SLICE = 'kubepods-burstable-pod1_2.slice';
const PATH = `/kubepods.slice/kubepods-burstable.slice/${SLICE}`;
const { signal } = new AbortController();
const refusal = new DbusError('Remote', 'Cannot set property', {
  remoteName: 'org.freedesktop.DBus.Error.InvalidArgs',
});
const away = new DbusError('Closed', 'the D-Bus connection was closed');

describe.each([1, 2] as const)('cgroups as systemd slices, on cgroup v%i', (version) => {
  let clock: FakeClock;
  let kernel: FakeKernel;
  let systemd: FakeSystemd;
  let cgroups: CgroupManager;
  const at = (controller: string, path: string): string => (version === 1 ? `/${controller}${path}` : path);
  const open = (): Promise<CgroupManager> => openCgroups({ ...kernelPorts(), systemd }, 'systemd');
  const kernelPorts = () => ({ fs: kernel.fs, clock, kill: kernel.kill });

  beforeEach(async () => {
    clock = new FakeClock();
    kernel = new FakeKernel(clock, version);
    systemd = new FakeSystemd(kernel);
    await kernel.boot();
    await kernel.memory.mkdir('/run/systemd/system');
    cgroups = await open();
  });

  test('a cgroup is a slice in its parent, exists in every hierarchy, and has its limits in systemd and in its files', async () => {
    await cgroups.create(POD, { pidsLimit: 7, memoryBytes: 4096, cpuQuotaUs: 12_345, cpuPeriodUs: 100_000 });
    expect(cgroups.version).toBe(version);
    expect(cgroups.path(POD)).toBe(PATH);
    expect(await cgroups.exists(POD)).toBe(true);
    expect(await cgroups.children(['kubepods', 'burstable'])).toEqual(['pod1-2']);
    const unit = systemd.units.get(SLICE);
    expect(unit?.get('Wants')).toEqual(['kubepods-burstable.slice']);
    expect(unit?.get('TasksMax')).toBe(7n);
    expect(unit?.get(version === 1 ? 'MemoryLimit' : 'MemoryMax')).toBe(4096n);
    expect(unit?.get('CPUQuotaPerSecUSec')).toBe(130_000n);
    expect(await kernel.text(`${at('pids', PATH)}/pids.max`)).toBe('7');
    const quota = version === 1 ? 'cpu.cfs_quota_us' : 'cpu.max';
    expect(await kernel.text(`${at('cpu', PATH)}/${quota}`)).toBe(version === 1 ? '13000' : '13000 100000');
  });

  test("the cgroup of all pods is reported in the driver's notation after the driver is known", async () => {
    const groups = new PodCgroups({ open }, { cgroupRoot: '/' });
    expect(groups.kubepodsPath()).toBe('/kubepods');
    await groups.ensure(bestEffort('e'), signal);
    expect(groups.kubepodsPath()).toBe('/kubepods.slice');
  });

  test('limits without a systemd property are written to the files', async () => {
    await cgroups.create(POD, { hugePageLimits: new Map([['2MB', 4096n]]), oomGroup: true });
    const file = version === 1 ? 'hugetlb.2MB.limit_in_bytes' : 'hugetlb.2MB.max';
    expect(await kernel.text(`${at('hugetlb', PATH)}/${file}`)).toBe('4096');
    if (version === 2) expect(await kernel.text(`${PATH}/memory.oom.group`)).toBe('1');
  });

  test('a first-level slice is wanted only by the root slice', async () => {
    await cgroups.create(['kubepods'], {});
    expect(systemd.units.get('kubepods.slice')?.get('Wants')).toEqual(['-.slice']);
    expect(await cgroups.missing([])).toEqual([]);
  });

  test('scopes and slices that are not pod cgroups do not count as children of a QoS cgroup', async () => {
    await cgroups.create(POD, {});
    const parent = '/kubepods.slice/kubepods-burstable.slice';
    for (const other of ['cri-containerd-1.scope', 'other-pod9.slice', 'kubepods-burstable-a-b.slice']) {
      await kernel.fs.mkdir(`/sys/fs/cgroup${at('memory', parent)}/${other}`);
    }
    expect(await cgroups.children(['kubepods', 'burstable'])).toEqual(['pod1-2']);
  });

  test('a removed cgroup is killed, then stopped by systemd, then removed if systemd left it', async () => {
    await cgroups.create(POD, {});
    await kernel.fs.mkdir(`/sys/fs/cgroup${at('memory', PATH)}/cri-containerd-1.scope`);
    await kernel.enter(`${at('memory', PATH)}/cri-containerd-1.scope`, 41, 42);
    const destroying = cgroups.destroy(POD, signal);
    await clock.advance(100);
    await kernel.reap();
    await clock.advance(2000);
    await destroying;
    expect(new Set(kernel.killed)).toEqual(new Set([41, 42]));
    expect(systemd.stopped).toEqual([SLICE]);
    expect(kernel.groups('').filter((path) => path.includes('pod1_2'))).toEqual([]);
  });

  test('the removal of a cgroup with a hanging process fails with the process ID, and its slice is not stopped', async () => {
    await cgroups.create(POD, {});
    await kernel.enter(at('memory', PATH), 41);
    kernel.stuck.add(41);
    const destroying = cgroups.destroy(POD, signal).catch((err: unknown) => err);
    await clock.advance(5000);
    expect(await destroying).toMatchObject({ code: 'NotRemoved', message: expect.stringContaining('processes 41') });
    expect(systemd.stopped).toEqual([]);
  });

  test('a cgroup whose removal fails because systemd is down is removed when systemd is back', async () => {
    await cgroups.create(POD, {});
    systemd.fails = () => away;
    await expect(cgroups.destroy(POD, signal)).rejects.toMatchObject({ code: 'Systemd' });
    expect(await cgroups.children(['kubepods', 'burstable'])).toEqual(['pod1-2']);
    systemd.fails = () => undefined;
    await cgroups.destroy(POD, signal);
    expect(await cgroups.children(['kubepods', 'burstable'])).toEqual([]);
  });

  test('creating a cgroup while systemd is down is an error and leaves no cgroup that counts as complete', async () => {
    systemd.fails = () => away;
    await expect(cgroups.create(POD, { pidsLimit: 7 })).rejects.toMatchObject({
      code: 'Systemd',
      message: expect.stringContaining(SLICE),
    });
    expect(await cgroups.exists(POD)).toBe(false);
  });

  test('a limit that systemd refuses is an error, but is still written to the kernel', async () => {
    systemd.fails = (member) => (member === 'set' ? refusal : undefined);
    await expect(cgroups.create(POD, { pidsLimit: 7 })).rejects.toMatchObject({ code: 'Refused' });
    expect(await kernel.text(`${at('pids', PATH)}/pids.max`)).toBe('7');
  });

  test('controllers that a systemd restart removed are restored without recreating the cgroup', async () => {
    if (version === 1) return;
    await cgroups.create(POD, { pidsLimit: 7 });
    for (const path of ['/kubepods.slice', '/kubepods.slice/kubepods-burstable.slice']) {
      await kernel.memory.writeFile(`/sys/fs/cgroup${path}/cgroup.subtree_control`, 'cpu memory pids\n');
    }
    await kernel.memory.writeFile(`/sys/fs/cgroup${PATH}/cgroup.controllers`, 'cpu memory pids\n');
    expect(await cgroups.exists(POD)).toBe(true);
    expect(await kernel.text(`${PATH}/cgroup.controllers`)).toContain('cpuset');
  });

  test('a slice that another program stopped is created again', async () => {
    await cgroups.create(POD, { pidsLimit: 7 });
    await systemd.stopUnit(SLICE);
    expect(await cgroups.exists(POD)).toBe(false);
    await cgroups.create(POD, { pidsLimit: 8 });
    expect(await kernel.text(`${at('pids', PATH)}/pids.max`)).toBe('8');
  });

  test('N5: pods of each QoS class have slices, which runtimes get, until their cgroups are destroyed', async () => {
    const pods = new PodCgroups({ open, clock }, { podPidsLimit: 9 });
    const all = [guaranteed('g-1'), burstable('b-1'), bestEffort('e-1')];
    for (const pod of all) expect(await pods.ensure(pod, signal)).toBe(true);
    expect(all.map((pod) => pods.podCgroupParent(pod))).toEqual([
      '/kubepods.slice/kubepods-podg_1.slice',
      '/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-podb_1.slice',
      '/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pode_1.slice',
    ]);
    expect(await pods.pods(signal)).toEqual(new Set(['g-1', 'b-1', 'e-1']));
    for (const pod of all) await pods.destroy(pod.metadata.uid, signal);
    expect(await pods.pods(signal)).toEqual(new Set());
    expect([...systemd.units.keys()].sort()).toEqual([
      ...['kubepods-besteffort.slice', 'kubepods-burstable.slice', 'kubepods.slice'],
    ]);
  });

  test('K1: slices of a previous kubelet process are found by the next one', async () => {
    await cgroups.create(POD, {});
    expect(await new PodCgroups({ open, clock }).pods(signal)).toEqual(new Set(['1-2']));
  });
});

describe('openCgroups with the driver systemd', () => {
  test('a machine without systemd offers no systemd driver', async () => {
    const kernel = new FakeKernel(new FakeClock(), 2);
    await kernel.boot();
    const systemd = new FakeSystemd(kernel);
    const ports = { fs: kernel.fs, kill: kernel.kill };
    await expect(openCgroups({ ...ports, systemd }, 'systemd')).rejects.toMatchObject({
      code: 'UnsupportedDriver',
      message: expect.stringContaining('systemd not running on this host'),
    });
    await expect(openCgroups(ports, 'systemd')).rejects.toMatchObject({
      code: 'UnsupportedDriver',
      message: expect.stringContaining('the component systemd is missing'),
    });
  });
});
