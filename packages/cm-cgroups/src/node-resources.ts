import { milliCpuToShares, Quantity, type ResourceList } from '@node-agent/pod-spec';
import { hugePageLimits } from './huge-pages.ts';
import type { ResourceConfig } from './resource-config.ts';

/**
 * Returns the resources that all pods together may use: the node's capacity minus reservations, never below 0. Eviction
 * thresholds are not subtracted, so that eviction, which reports a reason, terminates pods before the cgroup limit does
 * (`GetNodeAllocatableAbsolute` in `pkg/kubelet/cm`).
 */
export function allocatableAbsolute(capacity: ResourceList, ...reserved: readonly ResourceList[]): ResourceList {
  const result = new Map<string, Quantity>();
  for (const [name, amount] of capacity) {
    const left = reserved.reduce((rest, list) => rest.sub(list.get(name) ?? Quantity.zero), amount);
    result.set(name, left.nanos < 0n ? Quantity.zero : left);
  }
  return result;
}

/**
 * Converts a resource list, including `pid`, to cgroup limits (upstream: `getCgroupConfigInternal`).
 * @param only `compressible`: CPU only, because a shortage of CPU time does not kill processes. Default: all
 */
export function listResourceConfig(list: ResourceList, only?: 'all' | 'compressible'): ResourceConfig {
  const cpu = list.get('cpu');
  const shares = cpu && { cpuShares: milliCpuToShares(Number(cpu.milliValue())) };
  if (only === 'compressible') return { ...shares };
  const memory = list.get('memory');
  const pids = list.get('pid');
  return {
    ...shares,
    // libcontainer treats 0 as "not set", so upstream sets no limit here.
    ...(memory && !memory.isZero && { memoryBytes: Number(memory.value()) }),
    ...(pids && { pidsLimit: Number(pids.value()) }),
    hugePageLimits: hugePageLimits(list),
  };
}
