import type { CpuStats, IoStats, MemoryStats, NodeSummary } from '@node-agent/contracts';
import type { UsageFigures, UsageSample } from '../wire.ts';
import { known } from './cut.ts';

/** Reduces the data of `/stats/summary` to what the page plots. */
export function usageSample({ node, pods }: NodeSummary, atMs: number): UsageSample {
  const { memory, fs, runtime } = node;
  const { workingSetBytes, availableBytes } = memory ?? {};
  return {
    atMs,
    node: known<UsageSample['node']>({
      ...figures({ ...node, disk: fs }),
      memoryCapacityBytes:
        workingSetBytes === undefined || availableBytes === undefined ? undefined : workingSetBytes + availableBytes,
      diskCapacityBytes: fs?.capacityBytes,
      // The disk counts as used if its bytes are not available, which includes blocks that are reserved for root.
      diskBytes:
        fs?.capacityBytes === undefined || fs.availableBytes === undefined
          ? fs?.usedBytes
          : fs.capacityBytes - fs.availableBytes,
      imageBytes: runtime?.imageFs?.usedBytes,
    }),
    pods: Object.fromEntries(
      pods.map((pod) => [pod.podRef.uid, figures({ ...pod, disk: pod['ephemeral-storage'] })] as const),
    ),
  };
}

interface Measured {
  readonly cpu?: CpuStats;
  readonly memory?: MemoryStats;
  readonly io?: IoStats;
  readonly disk?: { readonly usedBytes?: number } | undefined;
}

function figures({ cpu, memory, io, disk }: Measured): UsageFigures {
  return known<UsageFigures>({
    cpus: cpu?.usageNanoCores === undefined ? undefined : cpu.usageNanoCores / 1e9,
    memoryBytes: memory?.workingSetBytes,
    diskBytes: disk?.usedBytes,
    cpuPressure: cpu?.psi?.some.avg10,
    memoryPressure: memory?.psi?.some.avg10,
    ioPressure: io?.psi?.some.avg10,
  });
}
