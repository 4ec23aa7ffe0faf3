import type { Init } from '@node-agent/grpc';
import type { ContainerDevices } from './generated/v1/types.ts';

interface PlacedDevice {
  readonly resource: string;
  readonly id: string;
  readonly numaNodes: readonly number[];
}

/**
 * Converts devices to API entries: one entry for each device and NUMA node, and one entry for a device without a NUMA
 * node (`containerDevicesFromResourceDeviceInstances`, `pkg/kubelet/cm/container_manager.go`). The entries are sorted;
 * upstream's are not.
 */
export function containerDevices(devices: readonly PlacedDevice[]): readonly Init<ContainerDevices>[] {
  const key = ({ resource, id }: PlacedDevice): string => `${resource}\0${id}`;
  return devices
    .toSorted((a, b) => (key(a) < key(b) ? -1 : 1))
    .flatMap(({ resource: resourceName, id, numaNodes }) => {
      const entry = { resourceName, deviceIds: [id] };
      return numaNodes.length === 0 ? [entry] : numaNodes.map((ID) => ({ ...entry, topology: { nodes: [{ ID }] } }));
    });
}

/** Converts a container's devices to the input of {@link containerDevices}. */
export function placedDevices(
  held: ReadonlyMap<string, ReadonlyMap<number, readonly string[]>>,
): readonly PlacedDevice[] {
  return [...held].flatMap(([resource, byNuma]) => {
    const nodes = new Map<string, number[]>();
    for (const [node, ids] of byNuma) {
      for (const id of ids) {
        const known = nodes.get(id) ?? [];
        nodes.set(id, known);
        if (node >= 0) known.push(node);
      }
    }
    return [...nodes].map(([id, numaNodes]) => ({ resource, id, numaNodes }));
  });
}
