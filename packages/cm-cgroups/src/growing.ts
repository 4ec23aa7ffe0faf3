import type { GroupLimits, ResourceConfig } from './resource-config.ts';

/** What a group that is there can be set to at once, and which limits it keeps for now. */
export interface Growing {
  readonly set: ResourceConfig;
  readonly kept: ResourceConfig;
}

/**
 * A group whose containers may be larger than it is to be can grow at once, but not shrink: they come first. The kernel refuses a quota
 * below that of a group within (v1), and kills for memory that is used (v2).
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
