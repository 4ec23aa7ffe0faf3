import type {
  CpuUsage,
  ContainerStats as CriContainerStats,
  PsiStats as CriPsiStats,
  IoUsage,
  MemoryUsage,
  NetworkInterfaceUsage,
  NetworkUsage,
  SwapUsage,
} from '@node-agent/cri-client';
import { defined } from './figures-v1.ts';
import type { GroupFigures } from './group-figures.ts';
import type { InterfaceFigures } from './kernel-text.ts';
import {
  apiTime,
  type CpuStats,
  type InterfaceStats,
  type IoStats,
  type MemoryStats,
  type NetworkStats,
  type PsiStats,
  type SwapStats,
} from './summary.ts';

/** CPU, memory and swap stats of a node, pod, container or system cgroup. */
export interface ResourceParts {
  readonly cpu?: CpuStats;
  readonly memory?: MemoryStats;
  readonly swap?: SwapStats;
}

/**
 * Interface that upstream treats as the pod's own, whatever name the runtime reports (`defaultNetworkInterfaceName`).
 */
const DEFAULT_INTERFACE = 'eth0';

/**
 * Converts a cgroup's CPU, memory and swap counters (`cadvisorInfoToCPUandMemoryStats`, `pkg/kubelet/stats/helper.go`).
 */
export function partsOfGroup({ atMs, cpu, memory }: GroupFigures, rate: number | undefined): ResourceParts {
  const time = apiTime(atMs);
  return {
    ...(cpu && {
      cpu: {
        time,
        ...(rate !== undefined && { usageNanoCores: rate }),
        usageCoreNanoSeconds: cpu.usageNs,
        ...(cpu.psi && { psi: cpu.psi }),
      },
    }),
    ...(memory && {
      memory: {
        time,
        ...availableOf(memory.limitBytes, memory.workingSetBytes, 'availableBytes'),
        usageBytes: memory.usageBytes,
        workingSetBytes: memory.workingSetBytes,
        rssBytes: memory.rssBytes,
        pageFaults: memory.pageFaults,
        majorPageFaults: memory.majorPageFaults,
        ...(memory.psi && { psi: memory.psi }),
      },
      swap: {
        time,
        ...availableOf(memory.swapLimitBytes, memory.swapBytes, 'swapAvailableBytes'),
        swapUsageBytes: memory.swapBytes,
      },
    }),
  };
}

function availableOf<K extends string>(limitBytes: number | undefined, usedBytes: number, name: K) {
  if (limitBytes === undefined || !Number.isFinite(limitBytes)) return {};
  return { [name]: Math.max(0, limitBytes - usedBytes) } as { readonly [P in K]: number };
}

/** Converts a cgroup's I/O pressure; upstream shows it for every cgroup with the io controller. */
export function ioOfGroup({ atMs, io }: GroupFigures): IoStats | undefined {
  return io && { time: apiTime(atMs), ...(io.psi && { psi: io.psi }) };
}

/** Converts the network counters of a cgroup's processes. */
export function networkOfGroup({ atMs, network }: GroupFigures): NetworkStats | undefined {
  if (network === undefined || network.length === 0) return undefined;
  return networkStats(atMs, network.map(interfaceStats));
}

function networkStats(atMs: number, interfaces: readonly InterfaceStats[]): NetworkStats {
  const own = interfaces.find(({ name }) => name === DEFAULT_INTERFACE);
  return { time: apiTime(atMs), name: '', ...own, interfaces };
}

function interfaceStats({ name, rxBytes, rxErrors, txBytes, txErrors }: InterfaceFigures): InterfaceStats {
  return { name, rxBytes, rxErrors, txBytes, txErrors };
}

/** Converts the runtime's CPU, memory and swap stats of a container. */
export function partsOfRuntime(
  stats: Pick<CriContainerStats, 'cpu' | 'memory'> & { readonly swap?: SwapUsage | null },
  rate: number | undefined,
): ResourceParts {
  const { cpu, memory, swap } = stats;
  return {
    ...(cpu && { cpu: cpuOfRuntime(cpu, rate) }),
    ...(memory && { memory: memoryOfRuntime(memory) }),
    ...(swap && { swap: swapOfRuntime(swap) }),
  };
}

function cpuOfRuntime({ timestamp, usageCoreNanoSeconds, psi }: CpuUsage, rate: number | undefined): CpuStats {
  return defined({
    time: apiTime(timestamp / 1e6),
    usageNanoCores: rate,
    usageCoreNanoSeconds: usageCoreNanoSeconds?.value,
    psi: psiOfRuntime(psi),
  });
}

function memoryOfRuntime(usage: MemoryUsage): MemoryStats {
  return defined({
    time: apiTime(usage.timestamp / 1e6),
    availableBytes: usage.availableBytes?.value,
    usageBytes: usage.usageBytes?.value,
    workingSetBytes: usage.workingSetBytes?.value,
    rssBytes: usage.rssBytes?.value,
    pageFaults: usage.pageFaults?.value,
    majorPageFaults: usage.majorPageFaults?.value,
    psi: psiOfRuntime(usage.psi),
  });
}

function swapOfRuntime({ timestamp, swapAvailableBytes, swapUsageBytes }: SwapUsage): SwapStats {
  return defined({
    time: apiTime(timestamp / 1e6),
    swapAvailableBytes: swapAvailableBytes?.value,
    swapUsageBytes: swapUsageBytes?.value,
  });
}

export function ioOfRuntime(io: IoUsage | null): IoStats | undefined {
  return io === null ? undefined : defined<IoStats>({ time: apiTime(io.timestamp / 1e6), psi: psiOfRuntime(io.psi) });
}

/** Converts the runtime's network stats of a pod. */
export function networkOfRuntime(network: NetworkUsage | null | undefined): NetworkStats | undefined {
  if (!network) return undefined;
  const { timestamp, defaultInterface, interfaces } = network;
  const own = defaultInterface ? interfaceOfRuntime(defaultInterface) : { name: '' };
  return { time: apiTime(timestamp / 1e6), ...own, interfaces: interfaces.map(interfaceOfRuntime) };
}

function interfaceOfRuntime({ name, rxBytes, rxErrors, txBytes, txErrors }: NetworkInterfaceUsage): InterfaceStats {
  return defined<InterfaceStats>({
    name,
    rxBytes: rxBytes?.value,
    rxErrors: rxErrors?.value,
    txBytes: txBytes?.value,
    txErrors: txErrors?.value,
  });
}

function psiOfRuntime(psi: CriPsiStats | null): PsiStats | undefined {
  if (psi === null) return undefined;
  const data = (of: CriPsiStats['Full']) => ({
    total: of?.Total ?? 0,
    avg10: of?.Avg10 ?? 0,
    avg60: of?.Avg60 ?? 0,
    avg300: of?.Avg300 ?? 0,
  });
  return { full: data(psi.Full), some: data(psi.Some) };
}

/** Adds the stats of containers, for a pod without a cgroup (upstream: `addPodCPUMemoryStats`, `addSwapStats`). */
export function sumOfParts(parts: readonly ResourceParts[]): ResourceParts {
  const cpus = parts.flatMap(({ cpu }) => cpu ?? []);
  const memories = parts.flatMap(({ memory }) => memory ?? []);
  const swaps = parts.flatMap(({ swap }) => swap ?? []);
  return {
    ...(cpus.length > 0 && { cpu: summed(cpus, ['usageNanoCores', 'usageCoreNanoSeconds']) as CpuStats }),
    ...(memories.length > 0 && {
      memory: summed(memories, [
        ...(['availableBytes', 'usageBytes', 'workingSetBytes', 'rssBytes'] as const),
        ...(['pageFaults', 'majorPageFaults'] as const),
      ]) as MemoryStats,
    }),
    ...(swaps.length > 0 && { swap: summed(swaps, ['swapAvailableBytes', 'swapUsageBytes']) as SwapStats }),
  };
}

function summed<T extends { readonly time: string | null }, K extends keyof T>(
  values: readonly T[],
  names: readonly K[],
) {
  const totals = names.map((name) => {
    const known = values.map((value) => value[name] as number | undefined).filter((value) => value !== undefined);
    // A sum is known only if all added values are known.
    return [name, known.length === values.length ? known.reduce((a, b) => a + b, 0) : undefined] as const;
  });
  return defined({ time: values.at(-1)?.time ?? null, ...Object.fromEntries(totals) });
}
