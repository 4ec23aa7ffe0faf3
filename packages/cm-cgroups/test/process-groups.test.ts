import { FakeClock } from '@node-agent/async/testing';
import { beforeEach, describe, expect, test } from 'vitest';
import { openGroups, ProcessGroups, type ProcessGroupsOptions } from '../src/index.ts';
import { FakeKernel } from './kernel.ts';

const PID = 50;

describe.each([1, 2] as const)('kubelet and system cgroups on cgroup v%i', (version) => {
  let clock: FakeClock;
  let kernel: FakeKernel;
  const at = (controller: string): string => (version === 1 ? `/${controller}` : '');
  const run = async (options: Omit<ProcessGroupsOptions, 'pid'>): Promise<void> => {
    const ending = new AbortController();
    const fs = { ...kernel.fs, readlink: (path: string) => kernel.memory.readlink(path) };
    const ports = { fs: kernel.fs, clock, kill: kernel.kill };
    const running = new ProcessGroups({ fs, clock, open: () => openGroups(ports) }, { pid: PID, ...options }).start(
      ending.signal,
    );
    await clock.advance(61_000);
    ending.abort();
    await running;
  };
  const process = async (pid: number, { group = '/', program = true, namespace = 'pid:[1]' } = {}): Promise<void> => {
    await kernel.memory.mkdir(`/proc/${pid}/ns`);
    await kernel.memory.symlink(namespace, `/proc/${pid}/ns/pid`);
    if (program) await kernel.memory.symlink('/bin/x', `/proc/${pid}/exe`);
    const lines = version === 1 ? `4:memory:${group}\n3:cpu,cpuacct:${group}\n1:name=systemd:/\n` : `0::${group}\n`;
    await kernel.memory.writeFile(`/proc/${pid}/cgroup`, lines);
  };
  const entered = (path: string): string[] =>
    kernel.writes
      .filter((write) => write.startsWith(`${path}/cgroup.procs=`))
      .map((write) => write.split('=')[1] ?? '');

  beforeEach(async () => {
    clock = new FakeClock();
    kernel = new FakeKernel(clock, version);
    await kernel.boot();
    await process(1);
    await process(PID);
  });

  test('the kubelet moves itself to its cgroup in every hierarchy, and retries each minute', async () => {
    await run({ kubelet: '/own/kubelet' });
    expect(entered(`${at('memory')}/own/kubelet`)).toEqual(['50', '50']);
    expect(entered(`${at('cpu')}/own/kubelet`)).toEqual(['50', '50']);
  });

  test('a kubelet that is already in its cgroup is not moved', async () => {
    await kernel.memory.writeFile(`/proc/${PID}/cgroup`, version === 1 ? '4:memory:/own\n3:cpu:/own\n' : '0::/own\n');
    await run({ kubelet: '/own' });
    expect(entered(`${at('memory')}/own`)).toEqual([]);
  });

  test('a kubelet in a container stays in its cgroup', async () => {
    await kernel.memory.remove(`/proc/${PID}/ns/pid`);
    await kernel.memory.symlink('pid:[2]', `/proc/${PID}/ns/pid`);
    await run({ kubelet: '/own' });
    expect(kernel.groups(at('memory'))).toEqual([]);
  });

  test('processes of the root cgroup are moved, except process 1, kernel threads and processes of other cgroups', async () => {
    await process(60);
    await process(61, { program: false });
    if (version === 1) {
      await kernel.memory.writeFile('/sys/fs/cgroup/devices/cgroup.procs', '1\n60\n61\n');
      // A process of a container that this hierarchy does not contain.
      await kernel.memory.writeFile('/sys/fs/cgroup/unified/cgroup.procs', '62\n');
    } else await kernel.memory.writeFile('/sys/fs/cgroup/cgroup.procs', '1\n60\n61\n');
    await run({ system: '/system' });
    expect(new Set(entered(`${at('memory')}/system`))).toEqual(new Set(['60']));
  });

  test('refuses the root cgroup as the system cgroup', () => {
    expect(
      () =>
        new ProcessGroups(
          { fs: kernel.memory, clock, open: () => openGroups({ fs: kernel.fs, kill: kernel.kill }) },
          { pid: PID, system: '//' },
        ),
    ).toThrow('system container cannot be root ("/")');
  });
});
