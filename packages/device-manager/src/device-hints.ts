import type { TopologyHint } from '@node-agent/contracts';
import type { Device } from './device.ts';

/** Devices of one resource from which a container or pod can get some. */
export interface DeviceSupply {
  /** All devices of the resource. */
  readonly devices: ReadonlyMap<string, Device>;
  readonly available: ReadonlySet<string>;
  /** Devices that the container or pod must get, because it reuses them. */
  readonly reusable: ReadonlySet<string>;
}

/** Returns whether any device of the resource is close to a NUMA node; otherwise there is nothing to align. */
export function hasTopology(devices: ReadonlyMap<string, Device> | undefined): boolean {
  return [...(devices?.values() ?? [])].some(({ numaNodes }) => numaNodes.length > 0);
}

/**
 * Returns the sets of NUMA nodes from which devices can be allocated. A set is preferred if it has no more nodes than
 * would be needed if no device were in use (`generateDeviceTopologyHints`,
 * `pkg/kubelet/cm/devicemanager/topology_hints.go`). Only NUMA nodes that have devices are considered.
 * @param machineNodes NUMA nodes of the machine; other nodes that a plugin reports are ignored
 */
export function deviceHints(
  machineNodes: readonly number[],
  { devices, available, reusable }: DeviceSupply,
  requested: number,
): readonly TopologyHint[] {
  const withDevices = new Set([...devices.values()].flatMap(({ numaNodes }) => numaNodes));
  const known = machineNodes.filter((node) => withDevices.has(node));
  const nodes = known.length > 0 ? known : machineNodes;
  const close = (id: string, group: readonly number[]): boolean =>
    devices.get(id)?.numaNodes.some((node) => group.includes(node)) ?? false;
  const mustHave = [...reusable].filter((id) => (devices.get(id)?.numaNodes.length ?? 0) > 0);
  let fewest = nodes.length;
  const fitting: (readonly number[])[] = [];
  for (const group of subsets(nodes)) {
    const total = [...devices.keys()].filter((id) => close(id, group)).length;
    if (total >= requested) fewest = Math.min(fewest, group.length);
    if (!mustHave.every((id) => close(id, group))) continue;
    if (mustHave.length + [...available].filter((id) => close(id, group)).length >= requested) fitting.push(group);
  }
  return fitting.map((group) => ({ nodes: group, preferred: group.length === fewest }));
}

/** Available devices, in the order in which they are allocated. */
export interface AlignedChoice {
  /** Devices close to a NUMA node of the affinity. */
  readonly aligned: readonly string[];
  /** All other devices: first those close to other NUMA nodes, then those without a NUMA node. */
  readonly others: readonly string[];
}

/**
 * Sorts available devices by the affinity of a container (`filterByAffinity`,
 * `pkg/kubelet/cm/devicemanager/manager.go`): devices of NUMA nodes with fewer devices come first. Among equal devices,
 * those with the first names come first; upstream's order is random.
 * @param affinity `undefined` for no preference
 */
export function byAffinity(
  available: readonly string[],
  devices: ReadonlyMap<string, Device> | undefined,
  affinity: readonly number[] | undefined,
): AlignedChoice {
  if (affinity === undefined || !hasTopology(devices)) return { aligned: [], others: available };
  const nodesOf = (id: string): readonly number[] => devices?.get(id)?.numaNodes ?? [];
  const counts = new Map<number, number>();
  for (const node of available.flatMap(nodesOf)) counts.set(node, (counts.get(node) ?? 0) + 1);
  const rank = (id: string): readonly [group: number, count: number] => {
    const nodes = nodesOf(id);
    if (nodes.length === 0) return [2, 0];
    const within = nodes.filter((node) => affinity.includes(node));
    const sizes = (within.length > 0 ? within : nodes).map((node) => counts.get(node) ?? 0);
    return [within.length > 0 ? 0 : 1, Math.min(...sizes)];
  };
  const ranked = available
    .map((id) => ({ id, rank: rank(id) }))
    .sort((a, b) => a.rank[0] - b.rank[0] || a.rank[1] - b.rank[1] || (a.id < b.id ? -1 : 1));
  const isAligned = ({ rank: [group] }: (typeof ranked)[number]): boolean => group === 0;
  const ids = (of: typeof ranked): readonly string[] => of.map(({ id }) => id);
  return { aligned: ids(ranked.filter(isAligned)), others: ids(ranked.filter((one) => !isAligned(one))) };
}

/** Yields the non-empty subsets of a list of NUMA nodes, smaller ones first. */
function* subsets(nodes: readonly number[]): Generator<readonly number[], void, undefined> {
  for (let size = 1; size <= nodes.length; size++) yield* ofSize(nodes, size, 0);
}

function* ofSize(nodes: readonly number[], size: number, start: number): Generator<readonly number[], void, undefined> {
  if (size === 0) {
    yield [];
    return;
  }
  for (let index = start; index <= nodes.length - size; index++) {
    for (const rest of ofSize(nodes, size - 1, index + 1)) yield [nodes[index] as number, ...rest];
  }
}
