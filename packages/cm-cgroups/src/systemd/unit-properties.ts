import { sharesToWeight } from '../cpu-weight.ts';
import type { ResourceConfig } from '../resource-config.ts';
import { cpuBits } from './cpu-bits.ts';
import type { UnitProperty } from './systemd.ts';

/** No limit, in systemd's numbers. */
const INFINITY = (1n << 64n) - 1n;
const DEFAULT_PERIOD_US = 100_000;
/** systemd holds shares of the CPU as whole percents: 10 ms of each second. */
const QUOTA_STEP_US = 10_000n;
/** The versions of systemd that have these properties first. */
const HAS_QUOTA_PERIOD = 242;
const HAS_ALLOWED_CPUS = 244;
/** The files of cgroup v2 that systemd has properties for, beside those that the fields of a `ResourceConfig` name. */
const UNIFIED: Readonly<Record<string, string>> = {
  'memory.min': 'MemoryMin',
  'memory.low': 'MemoryLow',
  'memory.high': 'MemoryHigh',
  'memory.max': 'MemoryMax',
  'memory.swap.max': 'MemorySwapMax',
};

/** What a slice is made with, before it has limits (`Apply` in `systemd/v1.go` and `v2.go` of opencontainers/cgroups). */
export function sliceProperties(slice: string, parent: string, cgroupVersion: 1 | 2): readonly UnitProperty[] {
  return [
    ['Description', 's', `Kubernetes cgroup ${slice}`],
    // It is in its parent by its name; this keeps the parent as long.
    ['Wants', 'as', [parent]],
    // A group that a process enters before its memory is accounted is not accounted as a whole.
    ['MemoryAccounting', 'b', true],
    ['CPUAccounting', 'b', true],
    [cgroupVersion === 2 ? 'IOAccounting' : 'BlockIOAccounting', 'b', true],
    ['TasksAccounting', 'b', true],
    ['DefaultDependencies', 'b', false],
  ];
}

/**
 * What systemd is told of a group's limits (`genV1ResourcesProperties`, `genV2ResourcesProperties` there). What it has no
 * property for is in the group's files alone: huge pages, `memory.oom.group`.
 * @param config as {@link withWholePercents} gives it
 * @throws CgroupError `Refused` for CPUs that are none
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
    // What is no number is refused by the kernel, by name, when it is written into the file.
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

/** Rounded up to whole percents. */
function quotaPerSecondUs(quotaUs: number, periodUs: number): bigint {
  const exact = (BigInt(quotaUs) * 1_000_000n) / BigInt(periodUs);
  return ((exact + QUOTA_STEP_US - 1n) / QUOTA_STEP_US) * QUOTA_STEP_US;
}

/**
 * The same limits with the CPU's rounded up to what systemd can hold: the files are to say what systemd will write into
 * them when it thinks of it again, and a container in the group may have its whole limit (`addCPUQuota` there).
 */
export function withWholePercents(config: ResourceConfig): ResourceConfig {
  const { cpuQuotaUs = 0, cpuPeriodUs } = config;
  if (cpuQuotaUs <= 0) return config;
  const periodUs = cpuPeriodUs || DEFAULT_PERIOD_US;
  const exact = (BigInt(cpuQuotaUs) * 1_000_000n) / BigInt(periodUs);
  if (exact % QUOTA_STEP_US === 0n) return config;
  return { ...config, cpuQuotaUs: Number((quotaPerSecondUs(cpuQuotaUs, periodUs) * BigInt(periodUs)) / 1_000_000n) };
}

/** Below 0 is none. */
function limit(bytes: number): bigint {
  return bytes < 0 ? INFINITY : BigInt(bytes);
}
