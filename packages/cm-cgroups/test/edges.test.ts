import { milliCpuToShares, type Pod, parseResourceList, Quantity, sharesToMilliCpu } from '@node-agent/pod-spec';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { v1Steps } from '../src/control-steps-v1.ts';
import { v2Steps } from '../src/control-steps-v2.ts';
import { sharesToWeight, weightToShares } from '../src/cpu-weight.ts';
import { growing } from '../src/growing.ts';
import { hugePageLimits, pageSizeName } from '../src/huge-pages.ts';
import { killProcesses } from '../src/kill-processes.ts';
import { childPart, parseDriverPath, parseSystemdPath } from '../src/names.ts';
import { listResourceConfig } from '../src/node-resources.ts';
import { podResourceConfig } from '../src/pod-resources.ts';
import { qosMemoryLimits } from '../src/qos-reserve.ts';
import { qosShares } from '../src/qos-resources.ts';
import type { ResourceConfig } from '../src/resource-config.ts';
import { burstable, container, guaranteed, makePod } from './pods.ts';

describe('values written to the kernel', () => {
  const text = (config: ResourceConfig, steps: typeof v1Steps): string =>
    steps(config, [])
      .flat()
      .map(({ file, value }) => `${file}=${value}`)
      .join(' ');

  test.each<[string, ResourceConfig, string, string]>([
    [
      'a swap limit of 0 differs from an unlimited one',
      { memoryBytes: 4096, swapBytes: 0 },
      'memory.limit_in_bytes=4096 memory.memsw.limit_in_bytes=4096',
      'memory.swap.max=0 memory.max=4096',
    ],
    ['unlimited swap', { swapBytes: -1 }, '', 'memory.swap.max=max'],
    ['memory.oom.group 0 kills processes one by one', { oomGroup: false }, '', 'memory.oom.group=0'],
    ['the minimum CPU quota is 1 ms', { cpuQuotaUs: 1 }, 'cpu.cfs_quota_us=1', 'cpu.max=1 100000'],
    ['a CPU period without a quota', { cpuPeriodUs: 50_000 }, 'cpu.cfs_period_us=50000', 'cpu.max=max 50000'],
  ])('writes "$2" on cgroup v1 and "$3" on cgroup v2: %s', (_title, config, v1, v2) => {
    expect([text(config, v1Steps), text(config, v2Steps)]).toEqual([v1, v2]);
  });

  test('each control file belongs to the controller that its name starts with', () => {
    const config: ResourceConfig = {
      ...{ cpuShares: 2, cpuQuotaUs: 1000, cpuPeriodUs: 1000, cpus: '0', memoryBytes: 1, swapBytes: 1, pidsLimit: 1 },
      ...{ oomGroup: true, hugePageLimits: new Map([['2MB', 1n]]), unified: { 'memory.high': '5', 'io.weight': '7' } },
    };
    for (const all of [config, { ...config, memoryBytes: -1 }]) {
      const writes = [...v1Steps(all, ['2MB']), ...v2Steps(all, ['2MB'])].flat();
      expect(writes.length).toBeGreaterThan(15);
      for (const { controller, file } of writes) expect(file.startsWith(`${controller}.`)).toBe(true);
      expect(writes.every(({ controller }) => controller !== '')).toBe(true);
    }
  });
});

describe('CPU weights and CPU shares', () => {
  // The rows equal the results of upstream's `getCPUWeight` and `CPUWeightToCPUShares`.
  test.each([
    [1, 2],
    [39, 998],
    [5000, 131_059],
    [10_000, 262_144],
  ])('weightToShares converts the CPU weight %i to %i CPU shares', (weight, shares) => {
    expect(weightToShares(weight)).toBe(shares);
  });

  test('the CPU weight of shares is rounded down at the exact boundary', () => {
    expect([2177, 2178].map(sharesToWeight)).toEqual([83, 84]);
  });

  test('shares are converted back to the original CPU request', () => {
    fc.assert(
      fc.property(fc.integer({ min: 3, max: 255_000 }), (milli) => {
        expect(sharesToMilliCpu(milliCpuToShares(milli))).toBe(milli);
      }),
    );
  });
});

describe('limits that may only grow', () => {
  const held = { cpuShares: 100, cpuQuotaUs: 20_000, cpuPeriodUs: 100_000, memoryBytes: 100, memoryUsageBytes: 60 };
  const cpuHeld = { cpuQuotaUs: 20_000, cpuPeriodUs: 100_000 };

  test.each<[string, ResourceConfig, ResourceConfig, ResourceConfig]>([
    ['is set if it equals the current limit', { memoryBytes: 100, ...cpuHeld }, { memoryBytes: 100, ...cpuHeld }, {}],
    [
      'is set if its quota is the same share of another period',
      { cpuQuotaUs: 10_000, cpuPeriodUs: 50_000 },
      cpuTo(10_000, 50_000),
      {},
    ],
    ['keeps its quota if the period is unknown', { cpuQuotaUs: 19_999 }, {}, cpuHeld],
    ['keeps its quota if the period is 0, which sets none', cpuTo(19_999, 0), {}, cpuHeld],
    ['grows if the period is unknown', { cpuQuotaUs: 20_001 }, { cpuQuotaUs: 20_001 }, {}],
    ['keeps its memory limit if the new one is a single byte', { memoryBytes: 1 }, {}, { memoryBytes: 100 }],
  ])('a limit that may only grow %s', (_title, config, set, kept) => {
    expect(growing(config, held)).toEqual({ set, kept });
  });

  function cpuTo(cpuQuotaUs: number, cpuPeriodUs: number): ResourceConfig {
    return { cpuQuotaUs, cpuPeriodUs };
  }
});

describe('huge page sizes and limits', () => {
  test.each([
    [0n, undefined],
    [512n, '512B'],
    [1024n, '1KB'],
    [3000n, undefined],
    [2n ** 21n, '2MB'],
    [3n * 2n ** 29n, undefined],
    [2n ** 30n, '1GB'],
    [2n ** 40n, '1TB'],
    [2n ** 50n, '1PB'],
    [2n ** 60n, '1024PB'],
    [2n ** 61n, undefined],
  ])('huge page size %d bytes is named %s', (bytes, name) => {
    expect(pageSizeName(bytes)).toBe(name);
  });

  test('limits of one huge page size are summed; sizes without a name and unparsable sizes are ignored', () => {
    const list = parseResourceList({
      ...{ 'hugepages-2Mi': '4Mi', 'hugepages-2048Ki': '2Mi', 'hugepages-2MB': '2Mi' },
      ...{ 'hugepages-3000': '3000', memory: '1Gi' },
    });
    expect([...hugePageLimits(list)]).toEqual([['2MB', 6n * 2n ** 20n]]);
  });
});

describe('killing the processes of a cgroup', () => {
  const failing = (code: string) => (): never => {
    throw Object.assign(new Error(code), { code });
  };

  test('every process of the cgroup gets SIGKILL', () => {
    const killed: string[] = [];
    killProcesses([4, 5], (pid, signal) => killed.push(`${pid} ${signal}`));
    expect(killed).toEqual(['4 SIGKILL', '5 SIGKILL']);
  });

  test('killing continues if a process has exited or may not be killed, and reports other errors', () => {
    for (const code of ['ESRCH', 'EPERM']) expect(() => killProcesses([1, 2], failing(code))).not.toThrow();
    expect(() => killProcesses([1], failing('EINVAL'))).toThrow('EINVAL');
  });
});

describe('systemd slice names', () => {
  test.each([
    ['kubepods', ['kubepods']],
    ['/kubepods.slice/kubepods-burstable.slice', ['kubepods', 'burstable']],
    ['-.slice', []],
    ['', []],
  ])('the cgroup for the slice %j is %j', (path, name) => {
    expect(parseSystemdPath(path)).toEqual(name);
    expect(parseDriverPath(path, 'systemd')).toEqual(name);
  });

  test('a cgroupfs directory name is read unchanged, including dashes', () => {
    expect(parseDriverPath('/kubepods/pod12-34', 'cgroupfs')).toEqual(['kubepods', 'pod12-34']);
  });

  test.each([
    ['kubepods-burstable-pod1.slice', 'pod1'],
    ['kubepods-besteffort-pod1.slice', undefined],
    ['system-burstable-pod1.slice', undefined],
    ['kubepods-burstable.slice', undefined],
    ['kubepods-burstable-pod1.scope', undefined],
  ])('the pod slice %s below the burstable QoS class is read as %s', (directory, part) => {
    expect(childPart(['kubepods', 'burstable'], directory, 'systemd')).toBe(part);
  });
});

describe('limits of pods and of the node', () => {
  const onlyMemory = makePod('m', [container('c', { memory: '10Mi' })]);

  test('a pod without a CPU request gets the minimum shares, and other pods lose none', () => {
    expect(podResourceConfig(onlyMemory).cpuShares).toBe(2);
    expect(qosShares([onlyMemory, burstable('b', '1')])).toEqual({ burstable: 1024, bestEffort: 2 });
    expect(qosShares([onlyMemory])).toEqual({ burstable: 2, bestEffort: 2 });
  });

  test('a pod without a memory request reserves no memory from lower QoS classes (QOSReserved)', () => {
    const reserve = { memoryPercent: 100, allocatableBytes: 100n * 2n ** 20n };
    expect(qosMemoryLimits([burstable('b'), guaranteed('g')], reserve)).toEqual({
      burstableBytes: 90n * 2n ** 20n,
      bestEffortBytes: 90n * 2n ** 20n,
    });
  });

  test('a limit of 1 process is applied, 0 means no limit', () => {
    expect(podResourceConfig(burstable('b'), { podPidsLimit: 1 }).pidsLimit).toBe(1);
    expect(podResourceConfig(burstable('b'), { podPidsLimit: 0 })).not.toHaveProperty('pidsLimit');
  });

  test('the cgroup of a pod gets a pod-level CPU or memory limit although a container has none, and no limit of other resources', () => {
    const whole = (limits: Record<string, string>): Pod =>
      makePod('p', [container('c', { cpu: '1' })], { resources: { limits } });
    expect(podResourceConfig(whole({ cpu: '2' }))).toMatchObject({ cpuQuotaUs: 200_000, cpuPeriodUs: 100_000 });
    expect(podResourceConfig(whole({ cpu: '2' }))).not.toHaveProperty('memoryBytes');
    expect(podResourceConfig(whole({ memory: '1Mi' }))).toMatchObject({ memoryBytes: 2 ** 20 });
    expect(podResourceConfig(whole({ memory: '1Mi' }))).not.toHaveProperty('cpuQuotaUs');
  });

  test('listResourceConfig restricted to compressible resources returns only the CPU shares', () => {
    const list = new Map([
      ['cpu', Quantity.of(1)],
      ['memory', Quantity.of(4096)],
      ['pid', Quantity.of(10)],
    ]);
    expect(listResourceConfig(list, 'compressible')).toEqual({ cpuShares: 1024 });
    const all = { cpuShares: 1024, memoryBytes: 4096, pidsLimit: 10, hugePageLimits: new Map() };
    expect([listResourceConfig(list), listResourceConfig(list, 'all')]).toEqual([all, all]);
  });
});
