import { FakeClock } from '@node-agent/async/testing';
import { describe, expect, test } from 'vitest';
import { openCgroups, openGroups, type ResourceConfig } from '../src/index.ts';
import { FakeKernel } from './kernel.ts';

describe.each([1, 2] as const)('limits that would silently mean "no limit" on cgroup v%i', (version) => {
  test.each<[object, string]>([
    [{ memoryBytes: Number.NaN }, 'memoryBytes must be a whole number of at least 1, or below 0 for no limit, not NaN'],
    [{ memoryBytes: 0 }, 'memoryBytes must be a whole number of at least 1, or below 0 for no limit, not 0'],
    [{ memoryBytes: 1.5 }, 'memoryBytes must be a whole number of at least 1, or below 0 for no limit, not 1.5'],
    [{ memoryBytes: '1Gi' }, 'memoryBytes must be a number, not "1Gi"'],
    [{ memoryBytes: null }, 'memoryBytes must be a number, not null'],
    [{ cpuQuotaUs: 0 }, 'cpuQuotaUs must be a whole number of at least 1, or below 0 for no limit, not 0'],
    [{ cpuQuotaUs: Number.NaN }, 'cpuQuotaUs must be a whole number of at least 1, or below 0 for no limit, not NaN'],
    [{ cpuPeriodUs: 0 }, 'cpuPeriodUs must be a whole number of at least 1, not 0'],
    [{ cpuShares: 0 }, 'cpuShares must be a whole number of at least 2, not 0'],
    [{ cpuShares: -5 }, 'cpuShares must be a whole number of at least 2, not -5'],
    [{ pidsLimit: Number.NaN }, 'pidsLimit must be a whole number of at least 0, or below 0 for no limit, not NaN'],
    [{ swapBytes: Number.NaN }, 'swapBytes must be a whole number of at least 0, or below 0 for no limit, not NaN'],
    [{ memory: 4096 }, 'unknown option memory; the options are '],
    [{ memoryLimitBytes: 4096 }, 'unknown option memoryLimitBytes; the options are '],
  ])(
    'refuses the limits %o with a RangeError that names the limit, before anything is written',
    async (limits, message) => {
      const kernel = new FakeKernel(new FakeClock(), version);
      await kernel.boot();
      const cgroups = await openCgroups(kernel);
      await cgroups.create(['kubepods'], { pidsLimit: 7 });
      for (const refused of [
        cgroups.update(['kubepods'], limits as ResourceConfig),
        cgroups.create(['other'], limits as ResourceConfig),
      ]) {
        const error: unknown = await refused.catch((err: unknown) => err);
        expect(error).toBeInstanceOf(RangeError);
        expect(error).toMatchObject({ code: 'InvalidOptions', message: expect.stringContaining(message) });
      }
      expect(await cgroups.exists(['other'])).toBe(false);
    },
  );

  test.each<ResourceConfig>([
    { memoryBytes: -1, cpuQuotaUs: -1, pidsLimit: -1, swapBytes: -1 },
    { pidsLimit: 0, swapBytes: 0 },
    { memoryBytes: 2 ** 60 },
    {},
  ])('accepts the limits %o', async (limits) => {
    const kernel = new FakeKernel(new FakeClock(), version);
    await kernel.boot();
    await expect((await openCgroups(kernel)).create(['kubepods'], limits)).resolves.toBeUndefined();
  });

  test('an unknown cgroup driver is named in the error', async () => {
    const kernel = new FakeKernel(new FakeClock(), version);
    await kernel.boot();
    const refusal = {
      code: 'InvalidOptions',
      message: 'cgroups: driver must be cgroupfs or systemd, not "cgroupsfs"',
    };
    await expect(openCgroups(kernel, 'cgroupsfs' as never)).rejects.toMatchObject(refusal);
    await expect(openGroups(kernel, 'cgroupsfs' as never)).rejects.toMatchObject(refusal);
  });
});
