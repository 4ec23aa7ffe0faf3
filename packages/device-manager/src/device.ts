import type { Device as PluginDevice } from './generated/types.ts';

/** Health of a device that may be allocated (`Healthy`, `k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1`). */
const HEALTHY = 'Healthy';

/**
 * Maximum number of NUMA nodes on Linux (`MAX_NUMNODES` with the largest `CONFIG_NODES_SHIFT`). A device is stored and
 * reported once for each of its nodes.
 */
const MAX_NUMA_NODES = 1024;

/** A device of a plugin. */
export interface Device {
  readonly id: string;
  /** Whether the device is healthy; only healthy devices are allocated. */
  readonly healthy: boolean;
  /** NUMA nodes that the device is close to; empty if there is no affinity. */
  readonly numaNodes: readonly number[];
}

/** A plugin's device list. */
interface DeviceList {
  readonly devices: ReadonlyMap<string, Device>;
  /** Ids that the list contains more than once; the last occurrence of an id is used. */
  readonly duplicates: readonly string[];
}

/** Parses a plugin's device list. @throws Error if a device has more NUMA nodes than possible */
export function readDevices(sent: readonly PluginDevice[]): DeviceList {
  const devices = new Map<string, Device>();
  const duplicates = new Set<string>();
  for (const { ID: id, health, topology } of sent) {
    if (devices.has(id)) duplicates.add(id);
    const numaNodes = numaNodesOf(topology?.nodes ?? []);
    if (numaNodes.length > MAX_NUMA_NODES) {
      throw new Error(`a device has ${numaNodes.length} NUMA nodes: at most ${MAX_NUMA_NODES} are accepted`);
    }
    devices.set(id, { id, healthy: health === HEALTHY, numaNodes });
  }
  return { devices, duplicates: [...duplicates] };
}

/** Returns the NUMA nodes of a device, each once. */
function numaNodesOf(nodes: readonly { readonly ID: number }[]): readonly number[] {
  const ids = nodes.map(({ ID }) => ID);
  return ids.length > 1 ? [...new Set(ids)] : ids;
}

/**
 * Device ids by NUMA node; -1 for devices without a node. A device with several NUMA nodes is listed under each of
 * them, as in upstream's checkpoint.
 */
export type DevicesByNuma = ReadonlyMap<number, readonly string[]>;

/** Key of devices without a NUMA node (upstream: `nodeWithoutTopology`). */
const NO_NUMA_NODE = -1;

/** Groups devices by NUMA node. @param known the plugin's devices; unknown devices have no node */
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

/** Returns the ids of all devices, each once. */
export function deviceIds(byNuma: DevicesByNuma): ReadonlySet<string> {
  return new Set([...byNuma.values()].flat());
}
