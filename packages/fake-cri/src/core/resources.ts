import type { LinuxContainerResources } from '@node-agent/cri-client';

/**
 * Returns the resources after an update, as containerd's `updateOCILinuxResource` applies it: fields that are 0 or
 * empty keep their old value, and entries of maps are added.
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
