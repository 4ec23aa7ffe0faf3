import { type ControlStep, hugePageSteps, pidsMax } from './control-steps.ts';
import { sharesToWeight } from './cpu-weight.ts';
import type { ResourceConfig } from './resource-config.ts';

const DEFAULT_PERIOD_US = 100_000;

/**
 * Returns the writes for a cgroup of cgroup v2, in order; `unified` is written last and therefore takes precedence.
 * @param hugePageSizes the machine's page sizes; empty without a hugetlb controller
 */
export function v2Steps(config: ResourceConfig, hugePageSizes: readonly string[]): readonly ControlStep[] {
  const { cpuShares, cpuQuotaUs = 0, cpuPeriodUs, cpus, pidsLimit, memoryBytes, swapBytes, oomGroup, unified } = config;
  const steps: ControlStep[] = [];
  const add = (file: string, value: string): void => {
    steps.push([{ controller: file.replace(/\..*$/, ''), file, value }]);
  };
  if (pidsLimit !== undefined) add('pids.max', pidsMax(pidsLimit));
  // A kernel without swap has no `memory.swap.max`; then there is no swap to limit.
  if (swapBytes !== undefined) {
    steps.push([{ controller: 'memory', file: 'memory.swap.max', value: limit(swapBytes), ifPresent: true }]);
  }
  if (memoryBytes) add('memory.max', limit(memoryBytes));
  if (oomGroup !== undefined) add('memory.oom.group', oomGroup ? '1' : '0');
  if (cpuShares) add('cpu.weight', String(sharesToWeight(cpuShares)));
  if (cpuQuotaUs || cpuPeriodUs) {
    const quota = cpuQuotaUs > 0 ? String(cpuQuotaUs) : 'max';
    add('cpu.max', `${quota} ${cpuPeriodUs || DEFAULT_PERIOD_US}`);
  }
  if (cpus) add('cpuset.cpus', cpus);
  steps.push(
    ...hugePageSteps(
      config.hugePageLimits,
      hugePageSizes,
      (size, reserved) => `hugetlb.${size}${reserved ? '.rsvd' : ''}.max`,
    ),
  );
  for (const [file, value] of Object.entries(unified ?? {})) add(file, value);
  return steps;
}

function limit(bytes: number): string {
  return bytes < 0 ? 'max' : String(bytes);
}
