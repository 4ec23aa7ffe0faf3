import { checkOptions, OptionsError } from '@node-agent/async';
import type { CgroupDriver } from './names.ts';
import type { ResourceConfig } from './resource-config.ts';

/** Numeric limits, with their minimum and whether a negative value means no limit. */
const NUMBERS = [
  { name: 'cpuShares', least: 2, allowsNoLimit: false },
  { name: 'cpuQuotaUs', least: 1, allowsNoLimit: true },
  { name: 'cpuPeriodUs', least: 1, allowsNoLimit: false },
  { name: 'memoryBytes', least: 1, allowsNoLimit: true },
  { name: 'swapBytes', least: 0, allowsNoLimit: true },
  { name: 'pidsLimit', least: 0, allowsNoLimit: true },
] as const;

/**
 * Rejects limits that the kernel or systemd would silently treat as "no limit": NaN, 0, and unknown names.
 * @throws OptionsError (a RangeError) naming the limit
 */
export function checkLimits(config: ResourceConfig): void {
  checkOptions('cgroup limits', config, {
    cpuShares: 'number?',
    cpuQuotaUs: 'number?',
    cpuPeriodUs: 'number?',
    memoryBytes: 'number?',
    swapBytes: 'number?',
    pidsLimit: 'number?',
    hugePageLimits: 'any?',
    cpus: 'string?',
    oomGroup: 'boolean?',
    unified: 'object?',
  });
  for (const { name, least, allowsNoLimit } of NUMBERS) {
    const value = config[name];
    if (value === undefined || (Number.isInteger(value) && value >= least)) continue;
    if (allowsNoLimit && Number.isInteger(value) && value < 0) continue;
    const words = `a whole number of at least ${least}${allowsNoLimit ? ', or below 0 for no limit' : ''}`;
    throw new OptionsError('cgroup limits', name, `${name} must be ${words}, not ${String(value)}`);
  }
}

/** Checks the name of a cgroup driver. @throws OptionsError if the driver is unknown */
export function checkDriver(driver: CgroupDriver): void {
  if (driver === 'cgroupfs' || driver === 'systemd') return;
  throw new OptionsError('cgroups', 'driver', `driver must be cgroupfs or systemd, not ${JSON.stringify(driver)}`);
}
