import { type EvictionSummary, isCount, type MemoryStats } from './summary.ts';

/** A summary without memory figures that cannot be true, and those figures for people. */
export interface PlausibleSummary {
  readonly summary: EvictionSummary;
  readonly faults: readonly string[];
}

/**
 * Leaves out the memory of the node, of groups, pods and containers whose working set is larger than the machine's memory: a kernel that
 * counts wrong (kubernetes#114332) would make the node short of memory for ever. What is left of memory cannot show that, as it is counted
 * from the working set and never below 0.
 * @param machineBytes `MemTotal`; nothing is left out if it is not known
 */
export function withPlausibleMemory(given: EvictionSummary, machineBytes: number | undefined): PlausibleSummary {
  if (!isCount(machineBytes) || machineBytes === 0) return { summary: given, faults: [] };
  const faults: string[] = [];
  const checked = <T extends { readonly memory?: MemoryStats }>(of: T, name: string): T => {
    const workingSet = of.memory?.workingSetBytes;
    if (workingSet === undefined || workingSet <= machineBytes) return of;
    faults.push(`${name}: a working set of ${workingSet} bytes on a machine of ${machineBytes}`);
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
