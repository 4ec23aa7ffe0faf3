import { type EvictionSummary, isCount, type MemoryStats } from './summary.ts';

/** A summary without implausible memory values, and descriptions of the values that were removed. */
export interface PlausibleSummary {
  readonly summary: EvictionSummary;
  readonly faults: readonly string[];
}

/**
 * Removes the memory stats of the node, of cgroups, pods and containers whose working set is larger than the machine's
 * memory. A kernel that miscounts memory (kubernetes#114332) would otherwise keep the node under memory pressure
 * forever. The available bytes cannot reveal the error, because they are derived from the working set and never drop
 * below 0.
 * @param machineBytes `MemTotal`; if unknown, nothing is removed
 */
export function withPlausibleMemory(given: EvictionSummary, machineBytes: number | undefined): PlausibleSummary {
  if (!isCount(machineBytes) || machineBytes === 0) return { summary: given, faults: [] };
  const faults: string[] = [];
  const checked = <T extends { readonly memory?: MemoryStats }>(of: T, name: string): T => {
    const workingSet = of.memory?.workingSetBytes;
    if (workingSet === undefined || workingSet <= machineBytes) return of;
    faults.push(`${name}: working set of ${workingSet} bytes exceeds the machine's ${machineBytes} bytes`);
    const { memory: _memory, ...rest } = of;
    return rest as T;
  };
  const { systemContainers, ...node } = checked(given.node, 'memory.available');
  const pods = given.pods.map((pod) => {
    const { containers, ...rest } = checked(pod, `pod ${pod.podRef.namespace}/${pod.podRef.name}`);
    return containers === undefined
      ? rest
      : {
          ...rest,
          containers: containers.map((one) => checked(one, `container ${one.name} of pod ${pod.podRef.name}`)),
        };
  });
  const groups = systemContainers?.map((one) => checked(one, `group ${one.name}`));
  return { summary: { ...given, node: { ...node, ...(groups && { systemContainers: groups }) }, pods }, faults };
}
