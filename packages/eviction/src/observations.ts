import { Quantity } from '@node-agent/pod-spec';
import type { Signal } from './signals.ts';
import { type EvictionSummary, isCount, type MemoryStats } from './summary.ts';

/** Available amount and capacity of a signal at one time. */
export interface Observation {
  readonly available: Quantity;
  readonly capacity: Quantity;
  /** Wall-clock time of the measurement; `undefined` if the stats have none. */
  readonly atMs: number | undefined;
}

export type Observations = ReadonlyMap<Signal, Observation>;

/** Observations per signal, and the implausible values of a summary. */
export interface Observed {
  readonly observations: Observations;
  /** Descriptions of implausible values; their signals have no observation. */
  readonly faults: readonly string[];
}

interface SignalAmounts {
  readonly available: number | undefined;
  readonly capacity: number | undefined;
  readonly time: string | null;
}

/**
 * Extracts the signals of a summary (upstream: `makeSignalObservations`). Values that are negative, not whole numbers,
 * or above the capacity are ignored: no pod is evicted for them.
 */
export function observe(summary: EvictionSummary): Observed {
  const { memory, systemContainers = [], fs, runtime, rlimit } = summary.node;
  const pods = systemContainers.find(({ name }) => name === 'pods');
  const bytes = (of: typeof fs): SignalAmounts | undefined =>
    of && { available: of.availableBytes, capacity: of.capacityBytes, time: of.time };
  const inodes = (of: typeof fs): SignalAmounts | undefined =>
    // A file system that reports 0 inodes (btrfs) does not count inodes and cannot run out of them.
    of && of.inodes !== 0 ? { available: of.inodesFree, capacity: of.inodes, time: of.time } : undefined;
  const amounts: Readonly<Record<Signal, SignalAmounts | undefined>> = {
    'memory.available': memoryAmounts(memory),
    'allocatableMemory.available': memoryAmounts(pods?.memory),
    'nodefs.available': bytes(fs),
    'nodefs.inodesFree': inodes(fs),
    'imagefs.available': bytes(runtime?.imageFs),
    'imagefs.inodesFree': inodes(runtime?.imageFs),
    'containerfs.available': bytes(runtime?.containerFs),
    'containerfs.inodesFree': inodes(runtime?.containerFs),
    'pid.available': rlimit && {
      available: difference(rlimit.maxpid, rlimit.curproc),
      capacity: rlimit.maxpid,
      time: rlimit.time,
    },
  };
  const observations = new Map<Signal, Observation>();
  const faults: string[] = [];
  for (const [signal, of] of Object.entries(amounts) as [Signal, SignalAmounts | undefined][]) {
    if (of?.available === undefined || of.capacity === undefined) continue;
    const { available, capacity, time } = of;
    if (!isCount(available) || !isCount(capacity) || available > capacity) {
      faults.push(`${signal}: ${available} of ${capacity} available`);
      continue;
    }
    const format = signal.endsWith('.available') && signal !== 'pid.available' ? 'BinarySI' : 'DecimalSI';
    const atMs = Date.parse(String(time));
    observations.set(signal, {
      available: Quantity.of(available, format),
      capacity: Quantity.of(capacity, format),
      atMs: Number.isNaN(atMs) ? undefined : atMs,
    });
  }
  return { observations, faults };
}

/**
 * Returns the available memory and the capacity. The stats do not contain the capacity; it is the sum of working set
 * and available bytes.
 */
function memoryAmounts(of: MemoryStats | undefined): SignalAmounts | undefined {
  if (of?.availableBytes === undefined || of.workingSetBytes === undefined) return undefined;
  const { availableBytes: available, workingSetBytes, time } = of;
  // A negative working set makes the capacity smaller than the available bytes, which the caller detects.
  return { available, capacity: available + workingSetBytes, time };
}

/** Returns the remaining PIDs; 0 if there are more processes than the maximum. */
function difference(max: number | undefined, current: number | undefined): number | undefined {
  if (max === undefined || current === undefined) return undefined;
  // A negative process count makes the remainder larger than the capacity, which the caller detects.
  return Math.max(0, max - current);
}
