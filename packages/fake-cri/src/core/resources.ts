import type { LinuxContainerResources } from '@node-agent/cri-client';

/**
 * Resources after an update, as containerd applies one: what is 0 or empty stays as it was, and entries of maps are
 * added (`updateOCILinuxResource`).
 */
export function updatedResources(
  before: LinuxContainerResources | null,
  update: LinuxContainerResources | null,
): LinuxContainerResources | null {
  if (update === null) return before;
  if (before === null) return update;
  return {
    cpuPeriod: update.cpuPeriod || before.cpuPeriod,
    cpuQuota: update.cpuQuota || before.cpuQuota,
    cpuShares: update.cpuShares || before.cpuShares,
    memoryLimitInBytes: update.memoryLimitInBytes || before.memoryLimitInBytes,
    oomScoreAdj: update.oomScoreAdj || before.oomScoreAdj,
    cpusetCpus: update.cpusetCpus || before.cpusetCpus,
    cpusetMems: update.cpusetMems || before.cpusetMems,
    hugepageLimits: update.hugepageLimits.length > 0 ? update.hugepageLimits : before.hugepageLimits,
    unified: { ...before.unified, ...update.unified },
    memorySwapLimitInBytes: update.memorySwapLimitInBytes || before.memorySwapLimitInBytes,
  };
}
