import { MAX_CPU_SHARES, MIN_CPU_SHARES } from '@node-agent/pod-spec';

const SHARES = MAX_CPU_SHARES - MIN_CPU_SHARES;
const WEIGHTS = 10_000 - 1;

/**
 * Converts CPU shares to a cgroup v2 weight, 1 to 10000. The kubelet's own cgroups use this linear formula
 * (`getCPUWeight` in `pkg/kubelet/cm/cgroup_manager_linux.go`). The other formula, which newer runtimes use (runc 1.3.2
 * and later), applies to containers only.
 */
export function sharesToWeight(shares: number): number {
  const taken = Math.min(Math.max(shares, MIN_CPU_SHARES), MAX_CPU_SHARES);
  return 1 + Math.floor(((taken - MIN_CPU_SHARES) * WEIGHTS) / SHARES);
}

/** Converts a weight to CPU shares; the inverse of {@link sharesToWeight}. */
export function weightToShares(weight: number): number {
  return Math.floor(((weight - 1) * SHARES) / WEIGHTS) + MIN_CPU_SHARES;
}
