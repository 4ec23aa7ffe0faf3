import { FakeClock } from '@node-agent/async/testing';
import { MemoryFileSystem } from '@node-agent/host/testing';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { cpuListLength, hugePageSizeBytes, isCpuSubset, meminfoBytes, osImageOf } from '../src/machine-info.ts';
import { readMachineInfo } from '../src/machine-reader.ts';
import { goArchitecture, systemInfo } from '../src/system-info.ts';

const FILES: Readonly<Record<string, string>> = {
  '/proc/meminfo': 'MemTotal:       24657892 kB\nMemFree:         1000 kB\nSwapTotal:       2048 kB\n',
  '/sys/devices/system/cpu/online': '0-1\n',
  '/etc/machine-id': 'abc\n',
  '/sys/class/dmi/id/product_uuid': 'UUID-1\n',
  '/proc/sys/kernel/random/boot_id': 'boot-1\n',
  '/proc/sys/kernel/osrelease': '6.1.0-18-amd64\n',
  '/etc/os-release': 'PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\nNAME="Debian GNU/Linux"\n',
  '/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages': '512\n',
  '/sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages': '0\n',
};

async function machineWith(changes: Readonly<Record<string, string | undefined>> = {}) {
  const fs = new MemoryFileSystem({ clock: new FakeClock() });
  for (const [path, text] of Object.entries({ ...FILES, ...changes })) {
    if (text === undefined) continue;
    await fs.mkdir(path.slice(0, path.lastIndexOf('/')));
    await fs.writeFile(path, text);
  }
  return readMachineInfo(fs);
}

describe('machine info', () => {
  test("machine info is read from the kernel's files", async () => {
    expect(await machineWith()).toEqual({
      machineId: 'abc',
      systemUuid: 'UUID-1',
      bootId: 'boot-1',
      kernelVersion: '6.1.0-18-amd64',
      osImage: 'Debian GNU/Linux 12 (bookworm)',
      cpuCount: 2,
      memoryBytes: 24_657_892 * 1024,
      swapBytes: 2048 * 1024,
      hugePages: [
        { pageSizeBytes: 2 ** 30, count: 0 },
        { pageSizeBytes: 2 ** 21, count: 512 },
      ],
    });
  });

  test('machine info is read from fallback paths if the first path is missing', async () => {
    const elsewhere = {
      '/etc/machine-id': undefined,
      '/var/lib/dbus/machine-id': 'from-dbus',
      '/sys/class/dmi/id/product_uuid': undefined,
      '/proc/device-tree/vm,uuid': 'ppc-uuid\0',
      '/etc/os-release': undefined,
      '/usr/lib/os-release': 'PRETTY_NAME=Clear',
      '/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages': undefined,
      '/sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages': undefined,
    };
    expect(await machineWith(elsewhere)).toMatchObject({
      machineId: 'from-dbus',
      systemUuid: 'ppc-uuid',
      osImage: 'Clear',
      hugePages: [],
    });
  });

  test('machine info without identity files has empty IDs and unknown OS image and kernel version, and is no error', async () => {
    const gone = {
      '/etc/machine-id': undefined,
      '/etc/os-release': undefined,
      '/proc/sys/kernel/osrelease': undefined,
    };
    const without = { ...gone, '/sys/class/dmi/id/product_uuid': undefined };
    expect(await machineWith(without)).toMatchObject({
      machineId: '',
      systemUuid: '',
      osImage: 'Unknown',
      kernelVersion: 'Unknown',
    });
  });

  test.each([
    ['/proc/meminfo', undefined, '/proc/meminfo cannot be read'],
    ['/proc/meminfo', 'nothing', '/proc/meminfo has no MemTotal'],
    ['/sys/devices/system/cpu/online', 'many', '/sys/devices/system/cpu/online is no list of CPUs: many'],
    ['/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages', 'x', 'nr_hugepages is no number: "x"'],
  ])('reading machine info fails with an error that names the file if %s is %j', async (path, text, message) => {
    const failed = machineWith({ [path]: text });
    await expect(failed).rejects.toMatchObject({
      code: 'MachineUnreadable',
      message: expect.stringContaining(message),
    });
  });
});

test.each([
  ['0', 1],
  ['0-3', 4],
  ['0-3,8,10-11\n', 7],
  ['0-3,2,8,3-5,8', 7],
  ['', undefined],
  ['3-1', undefined],
  ['0-', undefined],
])('the CPU list %j contains %s', (text, count) => {
  expect(cpuListLength(text)).toBe(count);
});

test('a CPU list of any ranges yields each CPU once', () => {
  const ranges = fc.array(fc.tuple(fc.nat(99), fc.nat(20)), { minLength: 1, maxLength: 8 });
  const textOf = (all: readonly (readonly [number, number])[]): string =>
    all.map(([from, more]) => (more === 0 ? `${from}` : `${from}-${from + more}`)).join(',');
  const cpusOf = (all: readonly (readonly [number, number])[]): ReadonlySet<number> =>
    new Set(all.flatMap(([from, more]) => Array.from({ length: more + 1 }, (_, index) => from + index)));
  fc.assert(
    fc.property(ranges, ranges, (some, others) => {
      expect(cpuListLength(textOf(some))).toBe(cpusOf(some).size);
      expect(isCpuSubset(textOf(some), textOf(others))).toBe([...cpusOf(some)].every((cpu) => cpusOf(others).has(cpu)));
      expect(isCpuSubset(textOf(some), textOf([...others, ...some]))).toBe(true);
    }),
  );
});

test.each([
  ['0-1', '0,1', true],
  ['0-5', '0-1,2-3,4-5', true],
  ['0-1', '1,0', true],
  ['0-2', '0,2', false],
])('CPU list %j is a subset of %j, in any notation: %j', (list, of, isSubset) => {
  expect(isCpuSubset(list, of)).toBe(isSubset);
});

test.each([
  ['', '0-3'],
  ['0-', '0-3'],
  ['0', ''],
  ['0', 'all'],
])('CPU list %j is not a subset of %j if either is invalid', (list, of) => {
  expect(isCpuSubset(list, of)).toBe(false);
});

test.each([
  ['hugepages-2048kB', 2 ** 21],
  ['hugepages-64kB', 2 ** 16],
  ['other', undefined],
])('huge page directory %s has pages of %s bytes', (name, bytes) => {
  expect(hugePageSizeBytes(name)).toBe(bytes);
});

test('a meminfo field is matched by its whole name', () => {
  expect(meminfoBytes('HugeMemTotal: 1 kB\nMemTotal:  7 kB\n', 'MemTotal')).toBe(7168);
  expect(meminfoBytes('SwapTotal: 7 kB\n', 'MemTotal')).toBeUndefined();
});

test.each([
  ['NAME=x\nPRETTY_NAME="A \\"B\\" C"\n', 'A "B" C'],
  ["PRETTY_NAME='Quoted'", 'Quoted'],
  ['PRETTY_NAME=Plain\r\n', 'Plain'],
  ['NAME=x', 'Linux'],
])('the OS image of os-release %j is %s', (text, image) => {
  expect(osImageOf(text)).toBe(image);
});

describe('nodeInfo', () => {
  const settings = { kubeletVersion: 'v1.36.3+node-agent.0.1.0', operatingSystem: 'linux', architecture: 'amd64' };

  test('nodeInfo has versions and identities, and no kube-proxy version', async () => {
    const info = systemInfo(undefined, await machineWith(), { name: 'containerd', version: '2.1.9' }, settings);
    expect(info).toEqual({
      machineID: 'abc',
      systemUUID: 'UUID-1',
      bootID: 'boot-1',
      kernelVersion: '6.1.0-18-amd64',
      osImage: 'Debian GNU/Linux 12 (bookworm)',
      containerRuntimeVersion: 'containerd://2.1.9',
      kubeletVersion: 'v1.36.3+node-agent.0.1.0',
      kubeProxyVersion: '',
      operatingSystem: 'linux',
      architecture: 'amd64',
      swap: { capacity: 2048 * 1024 },
    });
  });

  test.each([
    ['v2.1.9', 'containerd://2.1.9'],
    ['2.0.0-rc.1+abc', 'containerd://2.0.0-rc.1+abc'],
    ['1.6.20~ds1', 'containerd://1.6.20'],
    ['devel', 'containerd://Unknown'],
    [undefined, 'containerd://Unknown'],
  ])('nodeInfo shows runtime version %s as %s', (version, shown) => {
    expect(systemInfo(undefined, undefined, { name: 'containerd', version }, settings).containerRuntimeVersion).toBe(
      shown,
    );
  });

  test("nodeInfo of an unknown machine and runtime is empty except for the kubelet's own fields", () => {
    expect(systemInfo(undefined, undefined, undefined, settings)).toEqual({
      ...{ machineID: '', systemUUID: '', bootID: '', kernelVersion: '', osImage: '', containerRuntimeVersion: '' },
      ...{ ...settings, kubeProxyVersion: '' },
    });
  });

  test('nodeInfo reports swap if the machine has any', async () => {
    const machine = await machineWith();
    const swapOf = (swapBytes: number) => systemInfo(undefined, { ...machine, swapBytes }, undefined, settings).swap;
    expect([swapOf(0), swapOf(1)]).toEqual([undefined, { capacity: 1 }]);
  });

  test('nodeInfo keeps values that are currently unknown, but removes swap after it is switched off', async () => {
    const before = systemInfo(undefined, await machineWith(), { name: 'containerd', version: '2.1.9' }, settings);
    expect(systemInfo({ ...before, kubeProxyVersion: 'v1.30.0' }, undefined, undefined, settings)).toEqual(before);
    const without = await machineWith({ '/proc/meminfo': 'MemTotal: 1 kB\nSwapTotal: 0 kB\n' });
    expect(systemInfo(before, without, undefined, settings)).not.toHaveProperty('swap');
  });
});

test("nodeInfo uses Go's architecture names", () => {
  const names = ['x64', 'ia32', 'ppc64', 'arm64', 'loong64', 's390x'].map(goArchitecture);
  expect(names).toEqual(['amd64', '386', 'ppc64le', 'arm64', 'loong64', 's390x']);
});
