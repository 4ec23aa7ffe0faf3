import { MAX_CPU_SHARES, MIN_CPU_SHARES } from '@node-agent/pod-spec';

const SHARES = MAX_CPU_SHARES - MIN_CPU_SHARES;
const WEIGHTS = 10_000 - 1;

/**
 * Shares as a weight of cgroup v2, 1 to 10000. The kubelet's own groups have this straight line (`getCPUWeight` in
 * `pkg/kubelet/cm/cgroup_manager_linux.go`); the curve that runtimes have by now (runc 1.3.2 and later) is theirs alone.
 */
export function sharesToWeight(shares: number): number {
  const taken = Math.min(Math.max(shares, MIN_CPU_SHARES), MAX_CPU_SHARES);
  return 1 + Math.floor(((taken - MIN_CPU_SHARES) * WEIGHTS) / SHARES);
}

/** The shares that a weight stands for, as {@link sharesToWeight}. */
export function weightToShares(weight: number): number {
  return Math.floor(((weight - 1) * SHARES) / WEIGHTS) + MIN_CPU_SHARES;
}
