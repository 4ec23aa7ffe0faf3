import type { Device as PluginDevice } from './generated/types.ts';

/** What a device is called that a container may be given (`Healthy`, `k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1`). */
const HEALTHY = 'Healthy';

/** Linux knows no more of them (`MAX_NUMNODES` of its largest `CONFIG_NODES_SHIFT`). A device is written, and told of, once for each. */
const MAX_NUMA_NODES = 1024;

/** One device of a plugin. */
export interface Device {
  readonly id: string;
  /** Only a healthy device is given to a container. */
  readonly healthy: boolean;
  /** The NUMA nodes that it is near to; none where it is the same everywhere. */
  readonly numaNodes: readonly number[];
}

/** What a plugin has told of its devices. */
interface DeviceList {
  readonly devices: ReadonlyMap<string, Device>;
  /** Names that it gave more than once: the last one counts. */
  readonly duplicates: readonly string[];
}

/** Reads a list that a plugin has sent. @throws Error where a device is near to more NUMA nodes than there can be */
export function readDevices(sent: readonly PluginDevice[]): DeviceList {
  const devices = new Map<string, Device>();
  const duplicates = new Set<string>();
  for (const { ID: id, health, topology } of sent) {
    if (devices.has(id)) duplicates.add(id);
    const numaNodes = numaNodesOf(topology?.nodes ?? []);
    if (numaNodes.length > MAX_NUMA_NODES) {
      throw new Error(`a device is near to ${numaNodes.length} NUMA nodes: no more than ${MAX_NUMA_NODES} are taken`);
    }
    devices.set(id, { id, healthy: health === HEALTHY, numaNodes });
  }
  return { devices, duplicates: [...duplicates] };
}

/** Each once. */
function numaNodesOf(nodes: readonly { readonly ID: number }[]): readonly number[] {
  const ids = nodes.map(({ ID }) => ID);
  return ids.length > 1 ? [...new Set(ids)] : ids;
}

/** Devices by their NUMA nodes; -1 for those that have none. One that is near to several is there several times, as upstream writes it. */
export type DevicesByNuma = ReadonlyMap<number, readonly string[]>;

/** Where a device is that is near to no NUMA node (`nodeWithoutTopology`). */
const NO_NUMA_NODE = -1;

/** @param known what the plugin told of them; one that it tells no more is near to no node */
export function devicesByNuma(ids: Iterable<string>, known: ReadonlyMap<string, Device> | undefined): DevicesByNuma {
  const byNuma = new Map<number, string[]>();
  for (const id of ids) {
    const nodes = known?.get(id)?.numaNodes ?? [];
    for (const node of nodes.length > 0 ? nodes : [NO_NUMA_NODE]) {
      const there = byNuma.get(node);
      if (there === undefined) byNuma.set(node, [id]);
      else there.push(id);
    }
  }
  return byNuma;
}

/** Each once. */
export function deviceIds(byNuma: DevicesByNuma): ReadonlySet<string> {
  return new Set([...byNuma.values()].flat());
}
