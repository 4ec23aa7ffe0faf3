import { FakeClock } from '@node-agent/async/testing';
import { beforeEach, describe, expect, test } from 'vitest';
import { type CgroupManager, openCgroups, openGroups, readHierarchy } from '../src/index.ts';
import { FakeKernel } from './kernel.ts';

const POD = ['kubepods', 'burstable', 'pod1'];
const { signal } = new AbortController();

describe.each([1, 2] as const)('cgroup operations on v%i', (version) => {
  let clock: FakeClock;
  let kernel: FakeKernel;
  let cgroups: CgroupManager;
  const at = (controller: string, path: string): string => (version === 1 ? `/${controller}${path}` : path);
  const PATH = '/kubepods/burstable/pod1';

  beforeEach(async () => {
    clock = new FakeClock();
    kernel = new FakeKernel(clock, version);
    await kernel.boot();
    cgroups = await openCgroups(kernel);
  });

  test('a cgroup is created together with its missing parents', async () => {
    expect(cgroups.version).toBe(version);
    expect(await cgroups.exists(POD)).toBe(false);
    await cgroups.create(POD, { pidsLimit: 7, memoryBytes: 4096 });
    expect(await cgroups.exists(POD)).toBe(true);
    expect(await cgroups.missing(POD)).toEqual([]);
    expect(await kernel.text(`${at('pids', PATH)}/pids.max`)).toBe('7');
    const memory = version === 1 ? 'memory.limit_in_bytes' : 'memory.max';
    expect(await kernel.text(`${at('memory', PATH)}/${memory}`)).toBe('4096');
    expect(await cgroups.children(['kubepods', 'burstable'])).toEqual(['pod1']);
    expect(await cgroups.children(['other'])).toEqual([]);
  });

  test('recreating a cgroup keeps the limits that the new config does not set', async () => {
    await cgroups.create(POD, { pidsLimit: 7 });
    await cgroups.create(POD, { cpuShares: 1024 });
    expect(await kernel.text(`${at('pids', PATH)}/pids.max`)).toBe('7');
  });

  test('a limit that the kernel rejects is named in the error, and the other limits are still written', async () => {
    kernel.refuse = (path) => (path.includes('cpu.shares') || path.includes('cpu.weight') ? 'EINVAL' : undefined);
    const making = cgroups.create(POD, { cpuShares: 1024, pidsLimit: 7 });
    await expect(making).rejects.toMatchObject({
      code: 'Refused',
      message: expect.stringMatching(/cpu\.(shares|weight)/),
    });
    expect(await kernel.text(`${at('pids', PATH)}/pids.max`)).toBe('7');
  });

  test('a control file that the kernel lacks is reported as a missing controller', async () => {
    await cgroups.create(POD, {});
    await kernel.memory.remove(`/sys/fs/cgroup${at('pids', PATH)}/pids.max`);
    await expect(cgroups.update(POD, { pidsLimit: 3 })).rejects.toMatchObject({ code: 'MissingController' });
  });

  test('a missing cgroup is not reported as a missing controller', async () => {
    const told = { code: 'Io', message: expect.stringMatching(/cgroup .*\/none does not exist/) };
    await expect(cgroups.update(['none'], { memoryBytes: 1 })).rejects.toMatchObject(told);
  });

  test('W3: a name that leads out of the cgroup tree creates and removes nothing', async () => {
    const before = kernel.memory.paths();
    for (const bad of [['..', 'x'], ['kubepods', '../../x'], ['']]) {
      await expect(cgroups.create(bad, {})).rejects.toMatchObject({ code: 'InvalidName' });
      await expect(cgroups.destroy(bad, signal)).rejects.toMatchObject({ code: 'InvalidName' });
    }
    expect(kernel.memory.paths()).toEqual(before);
  });

  test('W3: the root cgroup is neither emptied nor removed', async () => {
    await cgroups.create(['other'], {});
    await kernel.enter(at('memory', '/other'), 41);
    const groups = await openGroups(kernel);
    await expect(cgroups.destroy([], signal)).rejects.toMatchObject({ code: 'InvalidName' });
    await expect(groups.empty([], signal)).rejects.toMatchObject({ code: 'InvalidName' });
    expect(kernel.killed).toEqual([]);
    expect(await cgroups.exists(['other'])).toBe(true);
  });

  test('a cgroup with children and processes is killed and removed completely', async () => {
    await cgroups.create([...POD, 'container'], {});
    await kernel.enter(at('memory', `${PATH}/container`), 41, 42);
    await kernel.enter(at('pids', PATH), 43);
    await cgroups.destroy(POD, signal);
    expect([...kernel.killed].sort()).toEqual([41, 42, 43]);
    expect(kernel.groups('').filter((path) => path.includes('pod1'))).toEqual([]);
    expect(await cgroups.exists(['kubepods', 'burstable'])).toBe(true);
  });

  test('destroying a missing cgroup succeeds immediately', async () => {
    await cgroups.destroy(POD, signal);
    expect(kernel.killed).toEqual([]);
  });

  test('the removal of a cgroup with a process that hangs in the kernel fails with the ID of the process', async () => {
    await cgroups.create(POD, {});
    await kernel.enter(at('memory', PATH), 41);
    kernel.stuck.add(41);
    const destroying = cgroups.destroy(POD, signal).catch((err: unknown) => err);
    await clock.advance(5000);
    expect(await destroying).toMatchObject({ code: 'NotRemoved', message: expect.stringContaining('processes 41') });
    kernel.stuck.clear();
    await cgroups.destroy(POD, signal);
    expect(await cgroups.children(['kubepods', 'burstable'])).toEqual([]);
  });

  test('process ids 0 and 1 are never killed', async () => {
    await cgroups.create(POD, {});
    await kernel.memory.remove(`/sys/fs/cgroup${at('memory', PATH)}/cgroup.procs`);
    await kernel.memory.writeFile(`/sys/fs/cgroup${at('memory', PATH)}/cgroup.procs`, '0\n1\n');
    const ending = new AbortController();
    const destroying = cgroups.destroy(POD, ending.signal).catch((err: unknown) => err);
    await clock.advance(10);
    ending.abort(new Error('enough'));
    await destroying;
    expect(kernel.killed).toEqual([]);
  });

  test('destroying a cgroup with a hanging process ends when its signal is aborted', async () => {
    await cgroups.create(POD, {});
    await kernel.enter(at('memory', PATH), 41);
    kernel.stuck.add(41);
    const ending = new AbortController();
    const destroying = cgroups.destroy(POD, ending.signal).catch((err: unknown) => err);
    await clock.settle();
    ending.abort(new Error('stop'));
    expect(await destroying).toMatchObject({ message: 'stop' });
  });
});

describe('operations that are special to cgroup v1', () => {
  test("a new cpuset cgroup gets its parent's CPUs and memory nodes", async () => {
    const kernel = new FakeKernel(new FakeClock(), 1);
    await kernel.boot();
    await (await openCgroups(kernel)).create(POD, {});
    for (const path of ['/kubepods', '/kubepods/burstable/pod1']) {
      expect(await kernel.text(`/cpuset${path}/cpuset.cpus`)).toBe('0-3');
      expect(await kernel.text(`/cpuset${path}/cpuset.mems`)).toBe('0');
    }
  });

  test('a CPU period that is invalid with the old quota is set after the new quota', async () => {
    const kernel = new FakeKernel(new FakeClock(), 1);
    await kernel.boot();
    const cgroups = await openCgroups(kernel);
    let quotaSet = false;
    kernel.refuse = (path) => {
      quotaSet ||= path.endsWith('cfs_quota_us');
      return path.endsWith('cfs_period_us') && !quotaSet ? 'EINVAL' : undefined;
    };
    await cgroups.create(POD, { cpuQuotaUs: 2000, cpuPeriodUs: 10_000 });
    expect(kernel.writes.filter((write) => write.includes('cfs'))).toEqual([
      '/cpu/kubepods/burstable/pod1/cpu.cfs_quota_us=2000',
      '/cpu/kubepods/burstable/pod1/cpu.cfs_period_us=10000',
    ]);
  });

  test('on cgroup v1, the processes of a destroyed cgroup are frozen, killed and thawed', async () => {
    const kernel = new FakeKernel(new FakeClock(), 1);
    await kernel.boot();
    const cgroups = await openCgroups(kernel);
    await cgroups.create(POD, {});
    await kernel.enter('/memory/kubepods/burstable/pod1', 41);
    await cgroups.destroy(POD, signal);
    const states = kernel.writes.filter((write) => write.includes('freezer.state'));
    expect(states.map((write) => write.split('=')[1])).toEqual(['FROZEN', 'THAWED']);
  });

  test('a cgroup that is missing in one v1 hierarchy does not count as existing, but is still found and removed', async () => {
    const kernel = new FakeKernel(new FakeClock(), 1);
    await kernel.boot();
    const cgroups = await openCgroups(kernel);
    await cgroups.create(POD, {});
    await kernel.fs.remove('/sys/fs/cgroup/memory/kubepods/burstable/pod1');
    expect(await cgroups.missing(POD)).toEqual(['/sys/fs/cgroup/memory/kubepods/burstable/pod1']);
    expect(await cgroups.children(['kubepods', 'burstable'])).toEqual(['pod1']);
    await cgroups.destroy(POD, signal);
    expect(await cgroups.children(['kubepods', 'burstable'])).toEqual([]);
  });
});

describe('hybrid machine with cgroup v1 and v2', () => {
  test('a pod cgroup that a runtime created in the v2 hierarchy of a hybrid machine is found and removed', async () => {
    const kernel = new FakeKernel(new FakeClock(), 1);
    await kernel.boot();
    const cgroups = await openCgroups(kernel);
    await kernel.fs.mkdir('/sys/fs/cgroup/unified/kubepods/burstable/pod1/container');
    expect(await cgroups.children(['kubepods', 'burstable'])).toEqual(['pod1']);
    await cgroups.destroy(POD, signal);
    expect(kernel.groups('/unified')).toEqual(['/unified/kubepods', '/unified/kubepods/burstable']);
  });
});

describe('operations that are special to cgroup v2', () => {
  test('every parent cgroup enables all available controllers, even if one controller is unavailable', async () => {
    const kernel = new FakeKernel(new FakeClock(), 2);
    await kernel.boot();
    kernel.refuse = (path, value) =>
      path.endsWith('subtree_control') && value.includes('+io') ? 'EOPNOTSUPP' : undefined;
    const cgroups = await openCgroups(kernel);
    await cgroups.create(POD, { pidsLimit: 7 });
    expect(await kernel.text('/kubepods/burstable/pod1/cgroup.controllers')).toBe('cpuset cpu memory hugetlb pids');
    expect(await cgroups.exists(POD)).toBe(true);
  });

  test('a v2 cgroup without a required controller does not exist', async () => {
    const kernel = new FakeKernel(new FakeClock(), 2);
    await kernel.boot();
    const cgroups = await openCgroups(kernel);
    await kernel.fs.mkdir('/sys/fs/cgroup/kubepods/burstable/pod1');
    expect(await cgroups.missing(POD)).toHaveLength(5);
  });

  test('refuses a v2 cgroup that cannot get all controllers', async () => {
    const kernel = new FakeKernel(new FakeClock(), 2);
    await kernel.boot();
    await kernel.fs.mkdir('/sys/fs/cgroup/kubepods');
    await kernel.memory.writeFile('/sys/fs/cgroup/kubepods/cgroup.type', 'domain invalid\n');
    const cgroups = await openCgroups(kernel);
    await expect(cgroups.create(POD, {})).rejects.toMatchObject({
      code: 'Refused',
      message: expect.stringContaining('domain invalid'),
    });
  });

  test('on a v2 kernel without cgroup.kill, processes are frozen, killed one by one, and thawed', async () => {
    const kernel = new FakeKernel(new FakeClock(), 2, { killFile: false });
    await kernel.boot();
    const cgroups = await openCgroups(kernel);
    await cgroups.create(POD, {});
    await kernel.enter('/kubepods/burstable/pod1', 41);
    await cgroups.destroy(POD, signal);
    expect(kernel.killed).toEqual([41]);
    expect(kernel.writes.filter((write) => write.includes('freeze')).map((write) => write.split('=')[1])).toEqual([
      ...['1', '0'],
    ]);
  });
});

describe('detection of the cgroup hierarchy', () => {
  test('detects controllers that share a mount, and mount paths with spaces', async () => {
    const kernel = new FakeKernel(new FakeClock(), 1);
    await kernel.memory.mkdir('/proc/self');
    await kernel.memory.writeFile(
      '/proc/self/mountinfo',
      [
        '30 1 0:1 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct',
        '31 1 0:2 / /other\\040place/memory rw - cgroup cgroup rw,memory',
        '32 1 0:2 / /m rw shared:9 - cgroup cgroup rw,memory',
        '33 1 0:3 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,xattr,name=systemd',
        '34 1 0:4 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw',
        '36 1 0:4 / /run/elsewhere rw - cgroup2 cgroup2 rw',
        '35 1 0:5 / /x rw - cgroup cgroup rw,name=elogind',
      ].join('\n'),
    );
    expect(await readHierarchy(kernel.fs)).toEqual({
      version: 1,
      mounts: new Map([
        ['cpu', '/sys/fs/cgroup/cpu,cpuacct'],
        ['cpuacct', '/sys/fs/cgroup/cpu,cpuacct'],
        ['memory', '/m'],
        ['systemd', '/sys/fs/cgroup/systemd'],
        ['unified', '/sys/fs/cgroup/unified'],
      ]),
    });
  });

  test('a machine without cgroups is reported as having no cgroups', async () => {
    const kernel = new FakeKernel(new FakeClock(), 1);
    await kernel.memory.mkdir('/proc/self');
    await kernel.memory.writeFile('/proc/self/mountinfo', '31 1 0:2 / / rw - ext4 /dev/sda rw\n');
    await expect(readHierarchy(kernel.fs)).rejects.toMatchObject({ code: 'NoHierarchy' });
  });

  test('a machine without a mount table is reported as having no cgroups', async () => {
    const { fs } = new FakeKernel(new FakeClock(), 1);
    const told = { name: 'CgroupError', code: 'NoHierarchy', cause: { code: 'ENOENT' } };
    await expect(openCgroups({ fs, kill: () => undefined })).rejects.toMatchObject(told);
    const failing = { readFile: (path: string) => Promise.reject(Object.assign(new Error(path), { code: 'EIO' })) };
    await expect(readHierarchy(failing as never)).rejects.toMatchObject({ name: 'CgroupError', code: 'Io' });
  });
});
