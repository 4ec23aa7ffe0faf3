import { type ControlStep, type ControlWrite, hugePageSteps, pidsMax } from './control-steps.ts';
import type { ResourceConfig } from './resource-config.ts';

/**
 * Returns the writes for a cgroup of cgroup v1, in order.
 * @param hugePageSizes the machine's page sizes; empty without a hugetlb controller
 */
export function v1Steps(config: ResourceConfig, hugePageSizes: readonly string[]): readonly ControlStep[] {
  const { cpuShares, cpus, pidsLimit } = config;
  return [
    ...memorySteps(config),
    ...(cpuShares ? [one('cpu', 'cpu.shares', cpuShares)] : []),
    ...cpuTimeSteps(config),
    ...(cpus ? [one('cpuset', 'cpuset.cpus', cpus)] : []),
    ...(pidsLimit === undefined ? [] : [one('pids', 'pids.max', pidsMax(pidsLimit))]),
    ...hugePageSteps(
      config.hugePageLimits,
      hugePageSizes,
      (size, reserved) => `hugetlb.${size}${reserved ? '.rsvd' : ''}.limit_in_bytes`,
    ),
  ];
}

/**
 * Returns the writes of the memory limits. On cgroup v1, one limit covers memory and swap together, so without a memory
 * limit swap is unlimited too.
 */
function memorySteps({ memoryBytes, swapBytes }: ResourceConfig): readonly ControlStep[] {
  if (!memoryBytes) return [];
  const memory = write('memory', 'memory.limit_in_bytes', memoryBytes);
  if (memoryBytes < 0) return [[{ ...write('memory', 'memory.memsw.limit_in_bytes', -1), ifPresent: true }], [memory]];
  if (swapBytes === undefined) return [[memory]];
  return [[memory, write('memory', 'memory.memsw.limit_in_bytes', memoryBytes + swapBytes)]];
}

function cpuTimeSteps({ cpuQuotaUs, cpuPeriodUs }: ResourceConfig): readonly ControlStep[] {
  const period = cpuPeriodUs ? write('cpu', 'cpu.cfs_period_us', cpuPeriodUs) : undefined;
  const quota = cpuQuotaUs ? write('cpu', 'cpu.cfs_quota_us', cpuQuotaUs) : undefined;
  if (period && quota) return [[period, quota]];
  const only = period ?? quota;
  return only ? [[only]] : [];
}

function one(controller: string, file: string, value: string | number): ControlStep {
  return [write(controller, file, value)];
}

function write(controller: string, file: string, value: string | number): ControlWrite {
  return { controller, file, value: String(value) };
}
