import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { FakeClock } from '@node-agent/async/testing';
import { MemoryFileSystem } from '@node-agent/host/testing';
import { describe, expect, test } from 'vitest';
import { kibibytes, readMachine } from '../src/node/machine.ts';
import { pageSize } from '../src/node/page-size.ts';

async function machineWith(files: Readonly<Record<string, string>>) {
  const fs = new MemoryFileSystem({ clock: new FakeClock() });
  for (const [path, text] of Object.entries(files)) {
    await fs.mkdir(path.slice(0, path.lastIndexOf('/')));
    await fs.writeFile(path, text);
  }
  return await readMachine(fs);
}

describe('detection of AppArmor', () => {
  const inSysfs = { '/sys/kernel/security/apparmor/.null': '' };
  const enabled = '/sys/module/apparmor/parameters/enabled';
  test.each<[string, Readonly<Record<string, string>>, boolean]>([
    ['is on', { ...inSysfs, [enabled]: 'Y\n' }, true],
    ['is off', { ...inSysfs, [enabled]: 'N\n' }, false],
    ['is not mounted', { [enabled]: 'Y\n' }, false],
    ['is not in the kernel', {}, false],
  ])('AppArmor that %s is reported as enabled: $2', async (_, files, expected) => {
    expect((await machineWith(files)).appArmor).toBe(expected);
  });
});

describe('detection of SELinux', () => {
  const on = { '/sys/fs/selinux/enforce': '1' };
  const policy = { '/etc/selinux/config': '# comment\nSELINUX=enforcing\nSELINUXTYPE=targeted\n' };
  const contexts = '/etc/selinux/targeted/contexts/lxc_contexts';
  const label = 'system_u:object_r:container_file_t:s0';
  test.each<[string, Readonly<Record<string, string>>, object]>([
    ['is off', { ...policy, [contexts]: `file = "${label}"\n` }, { selinux: false }],
    ['has no policy', on, { selinux: true }],
    ['has no contexts of containers', { ...on, ...policy }, { selinux: true }],
    [
      'has a label for files of containers',
      { ...on, ...policy, [contexts]: `process = "system_u:system_r:container_t:s0"\nfile = "${label}"\n` },
      { selinux: true, selinuxFileContext: label },
    ],
  ])('if SELinux %s, its state and the default label of container files are: $2', async (_, files, expected) => {
    const { selinux, selinuxFileContext } = await machineWith(files);
    expect({ selinux, ...(selinuxFileContext !== undefined && { selinuxFileContext }) }).toEqual(expected);
  });
});

describe('detection of the cgroup version and its controllers', () => {
  test('with a unified hierarchy, the cgroup version is 2 and the swap controller of the own cgroup is found', async () => {
    const machine = await machineWith({
      '/sys/fs/cgroup/cgroup.controllers': 'memory',
      '/proc/self/cgroup': '0::/system.slice/kubelet.service\n',
      '/sys/fs/cgroup/system.slice/kubelet.service/memory.swap.max': 'max',
    });
    expect(machine).toMatchObject({ cgroupVersion: 2, swapControllerAvailable: true });
  });

  test('a machine with hybrid cgroup hierarchies has cgroup version 1', async () => {
    const machine = await machineWith({
      '/sys/fs/cgroup/unified/cgroup.controllers': '',
      '/sys/fs/cgroup/memory/memory.memsw.limit_in_bytes': '1',
    });
    expect(machine).toMatchObject({ cgroupVersion: 1, swapControllerAvailable: true });
  });

  test('a machine without readable cgroup files has no cgroup controllers', async () => {
    expect(await machineWith({})).toMatchObject({
      cgroupVersion: 1,
      swapControllerAvailable: false,
      memoryCapacityBytes: 0,
      hugePageSizes: [],
      extraMaskedPaths: [],
    });
  });
});

test('reads memory, huge page sizes and thermal throttling directories of the machine', async () => {
  const machine = await machineWith({
    '/proc/meminfo': 'MemTotal:       16384 kB\nMemFree: 1 kB\nSwapTotal:  2 kB\n',
    '/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages': '0',
    '/sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages': '0',
    '/sys/kernel/mm/hugepages/hugepages-64kB/nr_hugepages': '0',
    '/sys/devices/system/cpu/cpu0/thermal_throttle/x': '',
    '/sys/devices/system/cpu/cpufreq/y': '',
  });
  expect(machine).toMatchObject({
    memoryCapacityBytes: 16 * 1024 * 1024,
    swapCapacityBytes: 2048,
    extraMaskedPaths: ['/sys/devices/system/cpu/cpu0/thermal_throttle'],
  });
  expect([...machine.hugePageSizes].sort()).toEqual(['1GB', '2MB', '64KB']);
});

test('a memory value that is missing or not in kB is 0', () => {
  expect(kibibytes('MemTotal: 7 MB\n', 'MemTotal')).toBe(0);
  expect(kibibytes('', 'MemTotal')).toBe(0);
});

describe('the page size', () => {
  const auxv = (...pairs: readonly (readonly [bigint, bigint])[]): Uint8Array =>
    new Uint8Array(new BigUint64Array(pairs.flat()).buffer);
  test.each([
    ['is the value that the kernel reports', auxv([33n, 7n], [6n, 65_536n], [0n, 0n]), 65_536],
    ['is 4096 if the kernel reports none', auxv([33n, 7n], [0n, 0n]), 4096],
    ['is 4096 if the reported value is invalid', auxv([6n, 5n]), 4096],
    ['is 4096 if the auxiliary vector is truncated', auxv([6n, 16_384n]).subarray(0, 12), 4096],
    ['is read from a buffer with an offset', Uint8Array.from([0, ...auxv([6n, 16_384n])]).subarray(1), 16_384],
  ])('the page size %s', (_name, bytes, expected) => {
    expect(pageSize(bytes)).toBe(expected);
  });

  test('the page size of the machine equals the output of getconf', () => {
    const said = execFileSync('getconf', ['PAGESIZE'], { encoding: 'utf8' });
    expect(pageSize(readFileSync('/proc/self/auxv'))).toBe(Number(said));
  });
});
