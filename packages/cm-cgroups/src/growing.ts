import type { GroupLimits, ResourceConfig } from './resource-config.ts';

/** Limits that an existing cgroup can get now, and limits that it keeps for now. */
export interface Growing {
  readonly set: ResourceConfig;
  readonly kept: ResourceConfig;
}

/**
 * Splits new limits of an existing cgroup: limits can be raised now, but must not be lowered below those of its
 * containers, which must shrink first. Otherwise, the kernel would reject a quota below that of a child (v1), or kill
 * processes because of their current memory usage (v2).
 */
export function growing(config: ResourceConfig, held: GroupLimits | undefined): Growing {
  if (held === undefined) return { set: config, kept: {} };
  const { memoryBytes, cpuQuotaUs, cpuPeriodUs, ...others } = config;
  const memoryStays =
    isLimit(memoryBytes) &&
    (isLimit(held.memoryBytes) ? memoryBytes < held.memoryBytes : memoryBytes <= held.memoryUsageBytes);
  const cpuStays =
    isLimit(cpuQuotaUs) &&
    isLimit(held.cpuQuotaUs) &&
    cpuQuotaUs / (cpuPeriodUs || held.cpuPeriodUs) < held.cpuQuotaUs / held.cpuPeriodUs;
  return {
    set: {
      ...others,
      ...(!memoryStays && memoryBytes !== undefined && { memoryBytes }),
      ...(!cpuStays && cpuQuotaUs !== undefined && { cpuQuotaUs }),
      ...(!cpuStays && cpuPeriodUs !== undefined && { cpuPeriodUs }),
    },
    kept: {
      ...(memoryStays && { memoryBytes: held.memoryBytes }),
      ...(cpuStays && { cpuQuotaUs: held.cpuQuotaUs, cpuPeriodUs: held.cpuPeriodUs }),
    },
  };
}

function isLimit(value: number | undefined): value is number {
  return value !== undefined && value > 0;
}
