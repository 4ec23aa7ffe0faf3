import { renderTable } from '../table.ts';
import { bytes, millicores } from '../units.ts';

interface Cpu {
  readonly usageNanoCores?: number;
}
interface Memory {
  readonly workingSetBytes?: number;
  readonly availableBytes?: number;
}
interface Disk {
  readonly usedBytes?: number;
  readonly availableBytes?: number;
  readonly capacityBytes?: number;
}

/** The used fields of `/stats/summary`. */
export interface StatsSummary {
  readonly node: {
    readonly nodeName: string;
    readonly cpu?: Cpu;
    readonly memory?: Memory;
    readonly fs?: Disk;
    readonly runtime?: { readonly imageFs?: Disk };
  };
  readonly pods?: readonly {
    readonly podRef: { readonly namespace: string; readonly name: string };
    readonly cpu?: Cpu;
    readonly memory?: Memory;
    readonly 'ephemeral-storage'?: Disk;
  }[];
}

/** Renders the usage of the node, then of its pods: the pod with the largest working set first. */
export function topTable({ node, pods = [] }: StatsSummary): string {
  const nodeRows = [
    [
      node.nodeName,
      millicores(node.cpu?.usageNanoCores),
      bytes(node.memory?.workingSetBytes),
      bytes(node.memory?.availableBytes),
      disk(node.fs),
      disk(node.runtime?.imageFs),
    ],
  ];
  const podRows = pods
    .toSorted((a, b) => (b.memory?.workingSetBytes ?? 0) - (a.memory?.workingSetBytes ?? 0))
    .map(({ podRef, cpu, memory, 'ephemeral-storage': storage }) => [
      ...[podRef.namespace, podRef.name],
      ...[millicores(cpu?.usageNanoCores), bytes(memory?.workingSetBytes), bytes(storage?.usedBytes)],
    ]);
  const nodeTable = renderTable(['NODE', 'CPU', 'MEMORY', 'MEMORY FREE', 'DISK', 'IMAGE DISK'], nodeRows);
  return `${nodeTable}\n${renderTable(['NAMESPACE', 'POD', 'CPU', 'MEMORY', 'DISK'], podRows)}`;
}

function disk(stats: Disk | undefined): string {
  if (stats?.capacityBytes === undefined) return bytes(stats?.usedBytes);
  return `${bytes(stats.capacityBytes - (stats.availableBytes ?? 0))} of ${bytes(stats.capacityBytes)}`;
}
