import type { FileSystem } from '@node-agent/host';
import { weightToShares } from './cpu-weight.ts';
import { CgroupError } from './errors.ts';
import { readText, readWords } from './hierarchy.ts';
import type { GroupLimits } from './resource-config.ts';

/** cgroup v1 shows "no limit" as the largest number of whole pages, which exceeds any machine's memory. */
const UNLIMITED_BYTES = 2 ** 62;

/**
 * Reads a cgroup's limits on cgroup v1, from its directories in two hierarchies (`getCgroupCPUConfig`,
 * `readCgroupMemoryConfig` in `pkg/kubelet/cm/cgroup_v1_manager_linux.go`).
 */
export async function readV1Limits(
  fs: Pick<FileSystem, 'readFile'>,
  directories: { readonly cpu: string; readonly memory: string },
): Promise<GroupLimits> {
  const [shares, quota, period, memory, usage] = await Promise.all([
    readText(fs, `${directories.cpu}/cpu.shares`),
    readText(fs, `${directories.cpu}/cpu.cfs_quota_us`),
    readText(fs, `${directories.cpu}/cpu.cfs_period_us`),
    readText(fs, `${directories.memory}/memory.limit_in_bytes`),
    readText(fs, `${directories.memory}/memory.usage_in_bytes`),
  ]);
  const bytes = number(memory, 'memory.limit_in_bytes');
  return {
    cpuShares: number(shares, 'cpu.shares'),
    cpuQuotaUs: number(quota, 'cpu.cfs_quota_us'),
    cpuPeriodUs: number(period, 'cpu.cfs_period_us'),
    memoryBytes: bytes >= UNLIMITED_BYTES ? -1 : bytes,
    memoryUsageBytes: number(usage, 'memory.usage_in_bytes'),
  };
}

/** Reads a cgroup's limits on cgroup v2 (`cgroup_v2_manager_linux.go`). */
export async function readV2Limits(fs: Pick<FileSystem, 'readFile'>, directory: string): Promise<GroupLimits> {
  const [weight, [quota = '', period = ''], memory, usage] = await Promise.all([
    readText(fs, `${directory}/cpu.weight`),
    readWords(fs, `${directory}/cpu.max`),
    readText(fs, `${directory}/memory.max`),
    readText(fs, `${directory}/memory.current`),
  ]);
  return {
    cpuShares: weightToShares(number(weight, 'cpu.weight')),
    cpuQuotaUs: limit(quota, 'cpu.max'),
    cpuPeriodUs: number(period, 'cpu.max'),
    memoryBytes: limit(memory, 'memory.max'),
    memoryUsageBytes: number(usage, 'memory.current'),
  };
}

function limit(text: string, file: string): number {
  return text.trim() === 'max' ? -1 : number(text, file);
}

function number(text: string, file: string): number {
  const value = text.trim() === '' ? Number.NaN : Number(text);
  if (Number.isInteger(value)) return value;
  throw new CgroupError('Io', `${file} of a cgroup must contain a number, not ${JSON.stringify(text.trim())}`);
}
