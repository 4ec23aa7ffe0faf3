import { ContainerState, type ContainerStats, type Init, type PodSandboxStats } from '@node-agent/cri-client';
import { type ContainerRecord, containerState, containersIn, type RuntimeState, type SandboxRecord } from './state.ts';

const DEFAULT_CPU_NANO_CORES = 1_000_000;
const DEFAULT_MEMORY_BYTES = 1024 * 1024;

/** Usage of a running container: the values of its `Behaviour`, and the CPU time accumulated from them. */
export interface Usage {
  readonly cpuNanoCores: number;
  readonly cpuNanoSeconds: number;
  readonly memoryBytes: number;
  readonly processes: number;
}

/** Returns the usage of a running container. Returns `undefined` if the container is not running. */
export function usageOf(state: RuntimeState, container: ContainerRecord): Usage | undefined {
  if (containerState(container) !== ContainerState.CONTAINER_RUNNING) return undefined;
  const { cpuNanoCores = DEFAULT_CPU_NANO_CORES, memoryBytes = DEFAULT_MEMORY_BYTES } = container.behaviour.usage ?? {};
  const seconds = (state.clock.monotonic() - container.startedMonotonicMs) / 1000;
  return {
    cpuNanoCores,
    cpuNanoSeconds: Math.round(seconds * cpuNanoCores),
    memoryBytes,
    processes: 1 + container.execs.size,
  };
}

/** Returns the stats of a running container. Returns `undefined` if the container is not running. */
export function containerStats(state: RuntimeState, container: ContainerRecord): Init<ContainerStats> | undefined {
  const usage = usageOf(state, container);
  if (usage === undefined) return undefined;
  const timestamp = state.stampNs();
  const limitBytes = container.resources?.memoryLimitInBytes ?? 0;
  return {
    attributes: {
      id: container.id,
      metadata: container.metadata,
      labels: container.config.labels,
      annotations: container.config.annotations,
    },
    cpu: {
      timestamp,
      usageCoreNanoSeconds: { value: usage.cpuNanoSeconds },
      usageNanoCores: { value: usage.cpuNanoCores },
    },
    memory: {
      timestamp,
      workingSetBytes: { value: usage.memoryBytes },
      usageBytes: { value: usage.memoryBytes },
      rssBytes: { value: usage.memoryBytes },
      availableBytes: { value: limitBytes > 0 ? Math.max(limitBytes - usage.memoryBytes, 0) : 0 },
      pageFaults: { value: 0 },
      majorPageFaults: { value: 0 },
    },
    writableLayer: {
      timestamp,
      fsId: { mountpoint: state.mountpoint },
      usedBytes: { value: 4096 },
      inodesUsed: { value: 1 },
    },
    swap: { timestamp, swapAvailableBytes: { value: 0 }, swapUsageBytes: { value: 0 } },
  };
}

/**
 * Returns the stats of a ready sandbox: the sums over its containers, and network counters that increase every second.
 */
export function sandboxStats(state: RuntimeState, sandbox: SandboxRecord): Init<PodSandboxStats> {
  const containers = containersIn(state, sandbox.id);
  const usages = containers.map((container) => usageOf(state, container)).filter((usage) => usage !== undefined);
  const sum = (field: keyof Usage): { value: number } => ({
    value: usages.reduce((total, usage) => total + usage[field], 0),
  });
  const timestamp = state.stampNs();
  const bytes = { value: Math.max(Math.floor((timestamp - sandbox.createdAtNs) / 1e9), 0) * 100 };
  const network = { name: 'eth0', rxBytes: bytes, rxErrors: { value: 0 }, txBytes: bytes, txErrors: { value: 0 } };
  return {
    attributes: {
      id: sandbox.id,
      metadata: sandbox.metadata,
      labels: sandbox.config.labels,
      annotations: sandbox.config.annotations,
    },
    linux: {
      cpu: { timestamp, usageCoreNanoSeconds: sum('cpuNanoSeconds'), usageNanoCores: sum('cpuNanoCores') },
      memory: { timestamp, workingSetBytes: sum('memoryBytes'), usageBytes: sum('memoryBytes') },
      network: sandbox.ips.length === 0 ? null : { timestamp, defaultInterface: network, interfaces: [] },
      process: { timestamp, processCount: sum('processes') },
      containers: containers
        .map((container) => containerStats(state, container))
        .filter((stats) => stats !== undefined),
    },
  };
}
