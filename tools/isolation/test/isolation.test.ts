import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { cgroupMounts, hasProcesses } from '../src/index.ts';

test('cgroupMounts finds the cgroup mounts of both versions', () => {
  const mountinfo = `31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
33 31 0:30 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct
40 31 0:37 / /sys/fs/cgroup/systemd rw,relatime - cgroup cgroup rw,name=systemd
41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
`;
  expect(cgroupMounts(mountinfo)).toEqual([
    { type: 'cgroup', options: 'cpu,cpuacct', target: '/sys/fs/cgroup/cpu,cpuacct' },
    { type: 'cgroup', options: 'name=systemd', target: '/sys/fs/cgroup/systemd' },
    { type: 'cgroup2', options: '', target: '/sys/fs/cgroup/unified' },
  ]);
});

test('hasProcesses finds processes in a cgroup and its descendants', async () => {
  const group = await mkdtemp(join(tmpdir(), 'na-group-'));
  try {
    await mkdir(join(group, 'below'));
    for (const file of ['cgroup.procs', 'below/cgroup.procs']) await writeFile(join(group, file), '');
    await writeFile(join(group, 'tasks'), '1');
    expect([await hasProcesses([group]), await hasProcesses([])]).toEqual([false, false]);
    await writeFile(join(group, 'below/cgroup.procs'), '1');
    expect(await hasProcesses([group])).toBe(true);
  } finally {
    await rm(group, { recursive: true });
  }
});
