import { milliCpuToShares, Quantity, type ResourceList } from '@node-agent/pod-spec';
import { hugePageLimits } from './huge-pages.ts';
import type { ResourceConfig } from './resource-config.ts';

/**
 * What all pods together may take: the node's capacity less what is reserved, never below 0. What eviction keeps back is not
 * taken off, so that it is eviction that ends a pod, with a reason (`GetNodeAllocatableAbsolute` in `pkg/kubelet/cm`).
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
 * What a list of resources, `pid` among them, means for a group (`getCgroupConfigInternal` upstream).
 * @param only what can be had less of without harm, which is CPU time; all by default
 */
export function listResourceConfig(list: ResourceList, only?: 'all' | 'compressible'): ResourceConfig {
  const cpu = list.get('cpu');
  const shares = cpu && { cpuShares: milliCpuToShares(Number(cpu.milliValue())) };
  if (only === 'compressible') return { ...shares };
  const memory = list.get('memory');
  const pids = list.get('pid');
  return {
    ...shares,
    // libcontainer reads 0 as a limit that is not set, so that upstream sets none here.
    ...(memory && !memory.isZero && { memoryBytes: Number(memory.value()) }),
    ...(pids && { pidsLimit: Number(pids.value()) }),
    hugePageLimits: hugePageLimits(list),
  };
}
