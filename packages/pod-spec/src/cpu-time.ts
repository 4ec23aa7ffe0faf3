/** Smallest CPU shares that the kernel accepts (`MIN_SHARES` in kernel/sched/sched.h). */
export const MIN_CPU_SHARES = 2;
/** Largest CPU shares that the kernel accepts (`MAX_SHARES`). */
export const MAX_CPU_SHARES = 262_144;
const SHARES_PER_CPU = 1024;
/** The kernel rejects a quota below 1 ms. */
const MIN_QUOTA_US = 1000;

/** Converts millicores to CPU shares: 1024 for one CPU (`MilliCPUToShares` in `pkg/kubelet/cm/helpers_linux.go`). */
export function milliCpuToShares(milliCpu: number): number {
  return Math.min(Math.max(Math.floor((milliCpu * SHARES_PER_CPU) / 1000), MIN_CPU_SHARES), MAX_CPU_SHARES);
}

/** Converts shares to millicores, rounded up; 0 for shares below the minimum (`SharesToMilliCPU`). */
export function sharesToMilliCpu(shares: number): number {
  return shares >= MIN_CPU_SHARES ? Math.ceil((shares * 1000) / SHARES_PER_CPU) : 0;
}

/** Converts millicores to CPU time per period, in microseconds: at least 1 ms, or 0 (no limit) for 0. */
export function milliCpuToQuotaUs(milliCpu: number, periodUs: number): number {
  return milliCpu === 0 ? 0 : Math.max(Math.floor((milliCpu * periodUs) / 1000), MIN_QUOTA_US);
}
