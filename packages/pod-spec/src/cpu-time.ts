/** The fewest shares that the kernel takes (`MIN_SHARES` in kernel/sched/sched.h). */
export const MIN_CPU_SHARES = 2;
/** The most shares that the kernel takes (`MAX_SHARES`). */
export const MAX_CPU_SHARES = 262_144;
const SHARES_PER_CPU = 1024;
/** The kernel refuses a quota below 1 ms. */
const MIN_QUOTA_US = 1000;

/** CPU time in relation to others: 1024 for a whole CPU (`MilliCPUToShares` in `pkg/kubelet/cm/helpers_linux.go`). */
export function milliCpuToShares(milliCpu: number): number {
  return Math.min(Math.max(Math.floor((milliCpu * SHARES_PER_CPU) / 1000), MIN_CPU_SHARES), MAX_CPU_SHARES);
}

/** The request that shares stand for, rounded up; 0 for fewer than there can be (`SharesToMilliCPU`). */
export function sharesToMilliCpu(shares: number): number {
  return shares >= MIN_CPU_SHARES ? Math.ceil((shares * 1000) / SHARES_PER_CPU) : 0;
}

/** CPU time per period, in microseconds, at least 1 ms; 0, which sets nothing, for 0. */
export function milliCpuToQuotaUs(milliCpu: number, periodUs: number): number {
  return milliCpu === 0 ? 0 : Math.max(Math.floor((milliCpu * periodUs) / 1000), MIN_QUOTA_US);
}
