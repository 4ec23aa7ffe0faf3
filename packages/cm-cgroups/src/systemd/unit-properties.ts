import { sharesToWeight } from '../cpu-weight.ts';
import type { ResourceConfig } from '../resource-config.ts';
import { cpuBits } from './cpu-bits.ts';
import type { UnitProperty } from './systemd.ts';

/** systemd's value for "no limit". */
const INFINITY = (1n << 64n) - 1n;
const DEFAULT_PERIOD_US = 100_000;
/** systemd stores CPU quotas as whole percents: 10 ms per second. */
const QUOTA_STEP_US = 10_000n;
/** First systemd versions with these properties. */
const HAS_QUOTA_PERIOD = 242;
const HAS_ALLOWED_CPUS = 244;
/** Cgroup v2 files for which systemd has properties, besides those of `ResourceConfig` fields. */
const UNIFIED: Readonly<Record<string, string>> = {
  'memory.min': 'MemoryMin',
  'memory.low': 'MemoryLow',
  'memory.high': 'MemoryHigh',
  'memory.max': 'MemoryMax',
  'memory.swap.max': 'MemorySwapMax',
};

/**
 * Returns the properties with which a slice is created, before its limits (`Apply` in `systemd/v1.go` and `v2.go` of
 * opencontainers/cgroups).
 */
export function sliceProperties(slice: string, parent: string, cgroupVersion: 1 | 2): readonly UnitProperty[] {
  return [
    ['Description', 's', `Kubernetes cgroup ${slice}`],
    // The slice's name determines its parent; this property keeps the parent loaded as long as the slice.
    ['Wants', 'as', [parent]],
    // Memory of a process is fully accounted only if accounting is enabled before the process enters the cgroup.
    ['MemoryAccounting', 'b', true],
    ['CPUAccounting', 'b', true],
    [cgroupVersion === 2 ? 'IOAccounting' : 'BlockIOAccounting', 'b', true],
    ['TasksAccounting', 'b', true],
    ['DefaultDependencies', 'b', false],
  ];
}

/**
 * Returns the systemd properties of a cgroup's limits (upstream: `genV1ResourcesProperties`, `genV2ResourcesProperties`
 * of opencontainers/cgroups). Limits without a property are written into files only: huge pages, `memory.oom.group`.
 * @param config result of {@link withWholePercents}
 * @throws CgroupError `Refused` if the CPU list is invalid
 */
export function resourceProperties(
  config: ResourceConfig,
  cgroupVersion: 1 | 2,
  systemdVersion: number,
): readonly UnitProperty[] {
  const { cpuShares, memoryBytes, swapBytes, pidsLimit, cpus, unified = {} } = config;
  const properties: UnitProperty[] = [];
  const add = (name: string, value: bigint): void => {
    properties.push([name, 't', value]);
  };
  if (memoryBytes) add(cgroupVersion === 2 ? 'MemoryMax' : 'MemoryLimit', limit(memoryBytes));
  if (swapBytes !== undefined && cgroupVersion === 2) add('MemorySwapMax', limit(swapBytes));
  if (cpuShares && cgroupVersion === 2) add('CPUWeight', BigInt(sharesToWeight(cpuShares)));
  if (cpuShares && cgroupVersion === 1) add('CPUShares', BigInt(cpuShares));
  for (const [name, value] of quotaProperties(config, systemdVersion)) add(name, value);
  if (pidsLimit !== undefined) add('TasksMax', pidsLimit < 0 ? INFINITY : BigInt(Math.max(pidsLimit, 1)));
  if (cpus && systemdVersion >= HAS_ALLOWED_CPUS) properties.push(['AllowedCPUs', 'ay', cpuBits(cpus)]);
  if (cgroupVersion === 1) return properties;
  for (const [file, value] of Object.entries(unified)) {
    const name = UNIFIED[file];
    // Values that are neither a number nor `max` are left out: the kernel rejects them when they are written to the file.
    if (name !== undefined && /^(?:\d+|max)$/.test(value)) add(name, value === 'max' ? INFINITY : BigInt(value));
  }
  return properties;
}

function quotaProperties(
  { cpuQuotaUs = 0, cpuPeriodUs = 0 }: ResourceConfig,
  systemdVersion: number,
): readonly (readonly [string, bigint])[] {
  if (cpuQuotaUs === 0 && cpuPeriodUs === 0) return [];
  const perSecond = cpuQuotaUs > 0 ? quotaPerSecondUs(cpuQuotaUs, cpuPeriodUs || DEFAULT_PERIOD_US) : INFINITY;
  const period = [['CPUQuotaPeriodUSec', BigInt(cpuPeriodUs)] as const];
  return [
    ...(cpuPeriodUs !== 0 && systemdVersion >= HAS_QUOTA_PERIOD ? period : []),
    ['CPUQuotaPerSecUSec', perSecond],
  ];
}

/** Rounds the quota up to whole percents. */
function quotaPerSecondUs(quotaUs: number, periodUs: number): bigint {
  const exact = (BigInt(quotaUs) * 1_000_000n) / BigInt(periodUs);
  return ((exact + QUOTA_STEP_US - 1n) / QUOTA_STEP_US) * QUOTA_STEP_US;
}

/**
 * Returns the limits with the CPU quota rounded up to what systemd can store. The files must show what systemd will
 * write when it reloads, and rounding up leaves a container in the cgroup its whole limit (`addCPUQuota` of
 * opencontainers/cgroups).
 */
export function withWholePercents(config: ResourceConfig): ResourceConfig {
  const { cpuQuotaUs = 0, cpuPeriodUs } = config;
  if (cpuQuotaUs <= 0) return config;
  const periodUs = cpuPeriodUs || DEFAULT_PERIOD_US;
  const exact = (BigInt(cpuQuotaUs) * 1_000_000n) / BigInt(periodUs);
  if (exact % QUOTA_STEP_US === 0n) return config;
  return { ...config, cpuQuotaUs: Number((quotaPerSecondUs(cpuQuotaUs, periodUs) * BigInt(periodUs)) / 1_000_000n) };
}

/** Converts a limit; a negative value means no limit. */
function limit(bytes: number): bigint {
  return bytes < 0 ? INFINITY : BigInt(bytes);
}
