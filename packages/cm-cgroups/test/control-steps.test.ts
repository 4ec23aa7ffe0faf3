import { describe, expect, test } from 'vitest';
import type { ControlStep } from '../src/control-steps.ts';
import { v1Steps } from '../src/control-steps-v1.ts';
import { v2Steps } from '../src/control-steps-v2.ts';
import type { ResourceConfig } from '../src/index.ts';

const text = (steps: readonly ControlStep[]): string[] =>
  steps.map((step) => step.map(({ file, value, ifPresent }) => `${file}${ifPresent ? '?' : ''}=${value}`).join(' & '));

const TABLE: readonly { readonly config: ResourceConfig; readonly v1: string[]; readonly v2: string[] }[] = [
  { config: {}, v1: [], v2: [] },
  { config: { cpuShares: 1024 }, v1: ['cpu.shares=1024'], v2: ['cpu.weight=39'] },
  {
    config: { cpuQuotaUs: 20_000, cpuPeriodUs: 50_000 },
    v1: ['cpu.cfs_period_us=50000 & cpu.cfs_quota_us=20000'],
    v2: ['cpu.max=20000 50000'],
  },
  {
    config: { cpuQuotaUs: -1, cpuPeriodUs: 100_000 },
    v1: ['cpu.cfs_period_us=100000 & cpu.cfs_quota_us=-1'],
    v2: ['cpu.max=max 100000'],
  },
  {
    config: { cpuQuotaUs: 0, cpuPeriodUs: 100_000 },
    v1: ['cpu.cfs_period_us=100000'],
    v2: ['cpu.max=max 100000'],
  },
  { config: { cpuQuotaUs: 5000 }, v1: ['cpu.cfs_quota_us=5000'], v2: ['cpu.max=5000 100000'] },
  { config: { memoryBytes: 4096 }, v1: ['memory.limit_in_bytes=4096'], v2: ['memory.max=4096'] },
  { config: { memoryBytes: 0 }, v1: [], v2: [] },
  {
    config: { memoryBytes: -1 },
    v1: ['memory.memsw.limit_in_bytes?=-1', 'memory.limit_in_bytes=-1'],
    v2: ['memory.max=max'],
  },
  {
    config: { memoryBytes: 4096, swapBytes: 8192 },
    v1: ['memory.limit_in_bytes=4096 & memory.memsw.limit_in_bytes=12288'],
    v2: ['memory.swap.max?=8192', 'memory.max=4096'],
  },
  { config: { pidsLimit: 10 }, v1: ['pids.max=10'], v2: ['pids.max=10'] },
  { config: { pidsLimit: 0 }, v1: ['pids.max=1'], v2: ['pids.max=1'] },
  { config: { pidsLimit: -1 }, v1: ['pids.max=max'], v2: ['pids.max=max'] },
  { config: { cpus: '0-1' }, v1: ['cpuset.cpus=0-1'], v2: ['cpuset.cpus=0-1'] },
  { config: { oomGroup: true }, v1: [], v2: ['memory.oom.group=1'] },
  { config: { unified: { 'memory.min': '5' } }, v1: [], v2: ['memory.min=5'] },
  {
    config: { hugePageLimits: new Map([['2MB', 4096n]]) },
    v1: [
      ...['hugetlb.2MB.limit_in_bytes=4096', 'hugetlb.2MB.rsvd.limit_in_bytes?=4096'],
      ...['hugetlb.1GB.limit_in_bytes=0', 'hugetlb.1GB.rsvd.limit_in_bytes?=0'],
    ],
    v2: ['hugetlb.2MB.max=4096', 'hugetlb.2MB.rsvd.max?=4096', 'hugetlb.1GB.max=0', 'hugetlb.1GB.rsvd.max?=0'],
  },
];

describe('control file writes', () => {
  test.each(TABLE)(
    'the limits $config result in the expected writes to the control files of cgroup v1 and v2',
    ({ config, v1, v2 }) => {
      expect(text(v1Steps(config, ['2MB', '1GB']))).toEqual(v1);
      expect(text(v2Steps(config, ['2MB', '1GB']))).toEqual(v2);
    },
  );

  test("the value for unlimited huge pages is page-aligned and above any machine's memory", () => {
    expect(text(v2Steps({ hugePageLimits: 'unlimited' }, ['2MB']))[0]).toBe('hugetlb.2MB.max=4611686018427387904');
  });
});
