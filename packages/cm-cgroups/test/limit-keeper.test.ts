import { FakeClock } from '@node-agent/async/testing';
import { parseResourceList } from '@node-agent/pod-spec';
import { beforeEach, describe, expect, test } from 'vitest';
import { listResourceConfig, openCgroups, PodCgroups } from '../src/index.ts';
import { isDefault, limitsOf } from '../src/unset-limits.ts';
import { FakeKernel } from './kernel.ts';
import { burstable } from './pods.ts';
import { FakeSystemd } from './systemd/fake-systemd.ts';

const { signal } = new AbortController();
const limits = listResourceConfig(parseResourceList({ cpu: '500m', memory: '1Gi', pid: '1000' }));

describe.each(['cgroupfs', 'systemd'] as const)('limits that are checked each minute, driver %s', (driver) => {
  let clock: FakeClock;
  let kernel: FakeKernel;
  let running: Promise<void>;
  const [system, kubepods] = driver === 'systemd' ? ['/system.slice', '/kubepods.slice'] : ['/system', '/kubepods'];
  const set = (file: string, value: string): Promise<void> =>
    kernel.memory.writeFile(`/sys/fs/cgroup${file}`, `${value}\n`);
  /** Advances the clock by a minute. @returns the writes during that minute */
  const minute = async (): Promise<readonly string[]> => {
    const before = kernel.writes.length;
    await clock.advance(60_000);
    return kernel.writes.slice(before);
  };

  beforeEach(async () => {
    const ending = new AbortController();
    clock = new FakeClock();
    kernel = new FakeKernel(clock, 2);
    await kernel.boot();
    await kernel.memory.mkdir('/run/systemd/system');
    await kernel.fs.writeFile('/sys/fs/cgroup/cgroup.subtree_control', '+cpuset +cpu +io +memory +hugetlb +pids');
    await kernel.fs.mkdir(`/sys/fs/cgroup${system}`);
    const components = { fs: kernel.fs, clock, kill: kernel.kill, systemd: new FakeSystemd(kernel) };
    const cgroups = new PodCgroups(
      { open: () => openCgroups(components, driver), clock },
      { limits, reserved: [{ level: 'system-reserved', cgroup: system, limits }] },
    );
    running = cgroups.start(ending.signal);
    await cgroups.ensure(burstable('b'), signal);
    await clock.settle();
    return async () => {
      ending.abort();
      await running;
    };
  });

  test.each([
    ['of all pods', kubepods],
    ['of a reserved group', system],
  ])('limits that another agent changed are kept in the cgroup %s', async (_, group) => {
    await set(`${group}/memory.max`, String(2 ** 31));
    await set(`${group}/cpu.weight`, '77');
    expect(await minute()).toEqual([]);
    expect(await kernel.text(`${group}/memory.max`)).toBe(String(2 ** 31));
  });

  test.each([
    ['of all pods', kubepods],
    ['of a reserved group', system],
  ])('only limits that a systemd reload has reset are written again in the cgroup %s', async (_, group) => {
    await set(`${group}/memory.max`, 'max');
    await set(`${group}/cpu.weight`, '100');
    await set(`${group}/pids.max`, '500');
    expect((await minute()).toSorted()).toEqual([`${group}/cpu.weight=20`, `${group}/memory.max=${2 ** 30}`]);
    expect(await minute()).toEqual([]);
  });
});

test('after a failure all limits are written again until one attempt succeeds', async () => {
  const clock = new FakeClock();
  const kernel = new FakeKernel(clock, 2);
  await kernel.boot();
  kernel.refuse = (file) => (file === '/kubepods/memory.max' ? 'EBUSY' : undefined);
  const ending = new AbortController();
  const components = { fs: kernel.fs, clock, kill: kernel.kill };
  const cgroups = new PodCgroups({ open: () => openCgroups(components, 'cgroupfs'), clock }, { limits });
  const running = cgroups.start(ending.signal);
  await clock.settle();
  kernel.refuse = () => undefined;
  const before = kernel.writes.length;
  await clock.advance(60_000);
  const written = kernel.writes
    .slice(before)
    .filter((write) => write.startsWith('/kubepods/') && !write.includes('huge'));
  expect(written).toEqual(
    expect.arrayContaining(['/kubepods/cpu.weight=20', `/kubepods/memory.max=${2 ** 30}`, '/kubepods/pids.max=1000']),
  );
  ending.abort();
  await running;
});

test.each([
  ['memory.max', 'max\n', true],
  ['memory.max', '1073741824\n', false],
  ['memory.min', '0', true],
  ['cpu.max', 'max 100000\n', true],
  ['cpu.max', '50000 100000\n', false],
  ['cpu.weight', '100', true],
  ['cpu.weight', '20', false],
  ['cpu.shares', '1024', true],
  ['cpu.shares', '2', false],
  ['memory.limit_in_bytes', '9223372036854771712', true],
  ['memory.limit_in_bytes', '1073741824', false],
  ['hugetlb.2MB.max', 'max', true],
  ['hugetlb.2MB.max', '0', false],
  ['hugetlb.2MB.limit_in_bytes', '9223372036854771712', true],
  ['pids.max', 'max', true],
  ['memory.oom.group', '0', false],
])('the control file %s with the content %j counts as unset: %s', (file, text, expected) => {
  expect(isDefault(file, text)).toBe(expected);
});

test('limits that share one file, or of which the kernel rejects one without the other, are written together', () => {
  const config = {
    cpuShares: 2,
    cpuQuotaUs: 1,
    cpuPeriodUs: 2,
    memoryBytes: 3,
    swapBytes: 4,
    unified: { a: '1', b: '2' },
  };
  expect(limitsOf(config)).toEqual([
    { cpuShares: 2 },
    { cpuQuotaUs: 1, cpuPeriodUs: 2 },
    { memoryBytes: 3, swapBytes: 4 },
    { unified: { a: '1' } },
    { unified: { b: '2' } },
  ]);
});
