/** The least and the most that the kernel takes (`MIN_SHARES`, `MAX_SHARES` in kernel/sched/sched.h). */
export const MIN_CPU_SHARES = 2;
const MAX_CPU_SHARES = 262_144;
const SHARES_PER_CPU = 1024;
/** The kernel refuses a quota below 1 ms. */
const MIN_QUOTA_US = 1000;

/** CPU time in relation to others: 1024 for a whole CPU (`MilliCPUToShares` in `pkg/kubelet/cm/helpers_linux.go`). */
export function milliCpuToShares(milliCpu: number): number {
  return withinRange(Math.floor((milliCpu * SHARES_PER_CPU) / 1000));
}

/** The request that shares stand for, rounded up; 0 for the least shares that there are, or fewer. */
export function sharesToMilliCpu(shares: number): number {
  return shares >= MIN_CPU_SHARES ? Math.ceil((shares * 1000) / SHARES_PER_CPU) : 0;
}

/** CPU time per period, in microseconds, at least 1 ms; 0, which sets nothing, for 0. */
export function milliCpuToQuotaUs(milliCpu: number, periodUs: number): number {
  return milliCpu === 0 ? 0 : Math.max(Math.floor((milliCpu * periodUs) / 1000), MIN_QUOTA_US);
}

/** The limit that a quota stands for; 0 for one without a limit (-1). */
export function quotaUsToMilliCpu(quotaUs: number, periodUs: number): number {
  return quotaUs === -1 ? 0 : Math.floor((quotaUs * 1000) / periodUs);
}

/**
 * Shares as a weight of cgroup v2, 1 to 10000. The kubelet's own groups have this straight line (`getCPUWeight` in
 * `pkg/kubelet/cm/cgroup_manager_linux.go`); the curve that runtimes have by now (runc 1.3.2 and later) is theirs alone.
 */
export function sharesToWeight(shares: number): number {
  return 1 + Math.floor(((withinRange(shares) - 2) * 9999) / 262_142);
}

/** The shares that a weight stands for, as {@link sharesToWeight}. */
export function weightToShares(weight: number): number {
  return Math.floor(((weight - 1) * 262_142) / 9999) + 2;
}

function withinRange(shares: number): number {
  return Math.min(Math.max(shares, MIN_CPU_SHARES), MAX_CPU_SHARES);
}
