import { addResources, isHugePageResource, parseResourceList, Quantity, type ResourceList } from '@node-agent/pod-spec';
import { ContainerResourcesError } from '../errors.ts';
import type { MachineTopology } from '../machine/machine-topology.ts';
import type { MemoryReservation } from './starting-memory.ts';

/** An entry of `reservedMemory`. */
export interface NumaMemoryReservation {
  readonly numaNode: number;
  /** Quantities of `memory` and `hugepages-<size>`. */
  readonly limits: Readonly<Record<string, string>>;
}

/**
 * Returns the memory that is reserved on each NUMA node. The total of each resource must equal the node's reservation
 * for it (`getSystemReservedMemory`, `pkg/kubelet/cm/memorymanager/memory_manager.go`).
 * @param nodeReservation reserved quantity of each resource: the sum of `kubeReserved`, `systemReserved` and hard
 * eviction thresholds
 * @throws ContainerResourcesError `InvalidOptions`
 */
export function memoryReservation(
  { nodes }: MachineTopology,
  nodeReservation: ResourceList,
  entries: readonly NumaMemoryReservation[],
): MemoryReservation {
  const stray = entries.find(({ numaNode }) => !nodes.some(({ id }) => id === numaNode));
  if (stray !== undefined) {
    const what = `NUMA node ${stray.numaNode} that does not exist on this machine`;
    throw invalid(`the reserved memory configuration references a ${what}`);
  }
  const totals = addResources(...entries.map(({ limits }) => parseResourceList(limits)));
  const names = [...nodeReservation.keys()].filter((name) => name === 'memory' || isHugePageResource(name));
  for (const name of new Set([...totals.keys(), ...names])) {
    const [ofNodes, ofNode] = [totals.get(name) ?? Quantity.zero, nodeReservation.get(name) ?? Quantity.zero];
    if (ofNodes.equals(ofNode)) continue;
    const of = `the total amount "${ofNodes}" of type "${name}"`;
    throw invalid(`${of} is not equal to the value "${ofNode}" determined by Node Allocatable feature`);
  }
  if (totals.get('memory')?.isZero !== false) {
    throw invalid('[memorymanager] you should specify the system reserved memory');
  }
  const bytes = (numaNode: number): readonly (readonly [string, number])[] =>
    entries
      .filter((entry) => entry.numaNode === numaNode)
      .flatMap(({ limits }) => [...parseResourceList(limits)].map(([name, of]) => [name, Number(of.value())] as const));
  return new Map(nodes.map(({ id }) => [id, new Map(bytes(id))] as const));
}

function invalid(message: string): ContainerResourcesError {
  return new ContainerResourcesError('InvalidOptions', message);
}
