import { Quantity } from '@node-agent/pod-spec';
import type { Signal } from './signals.ts';
import { type EvictionSummary, isCount, type MemoryStats } from './summary.ts';

/** What was left of something at an instant. */
export interface Observation {
  readonly available: Quantity;
  readonly capacity: Quantity;
  /** By the wall clock; `undefined` where it was not told. */
  readonly atMs: number | undefined;
}

export type Observations = ReadonlyMap<Signal, Observation>;

/** What a summary says of each signal, and what it says that cannot be true. */
export interface Observed {
  readonly observations: Observations;
  /** Figures that are not believed: their signals have no observation. */
  readonly faults: readonly string[];
}

interface Figures {
  readonly available: number | undefined;
  readonly capacity: number | undefined;
  readonly time: string | null;
}

/**
 * Reads the signals of a summary (`makeSignalObservations`). Figures that are negative, broken, or more than there is in all are
 * not believed: nothing is evicted for them.
 */
export function observe(summary: EvictionSummary): Observed {
  const { memory, systemContainers = [], fs, runtime, rlimit } = summary.node;
  const pods = systemContainers.find(({ name }) => name === 'pods');
  const bytes = (of: typeof fs): Figures | undefined =>
    of && { available: of.availableBytes, capacity: of.capacityBytes, time: of.time };
  const inodes = (of: typeof fs): Figures | undefined =>
    // A file system that counts none (btrfs) is not short of them.
    of && of.inodes !== 0 ? { available: of.inodesFree, capacity: of.inodes, time: of.time } : undefined;
  const figures: Readonly<Record<Signal, Figures | undefined>> = {
    'memory.available': memoryFigures(memory),
    'allocatableMemory.available': memoryFigures(pods?.memory),
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
  for (const [signal, of] of Object.entries(figures) as [Signal, Figures | undefined][]) {
    if (of?.available === undefined || of.capacity === undefined) continue;
    const { available, capacity, time } = of;
    if (!isCount(available) || !isCount(capacity) || available > capacity) {
      faults.push(`${signal}: ${available} of ${capacity} is left`);
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

/** What is there in all is not told apart: it is what is used and what is left. */
function memoryFigures(of: MemoryStats | undefined): Figures | undefined {
  if (of?.availableBytes === undefined || of.workingSetBytes === undefined) return undefined;
  const { availableBytes: available, workingSetBytes, time } = of;
  // A working set that is negative makes less than what is left of it, and is found by that.
  return { available, capacity: available + workingSetBytes, time };
}

/** More processes than there can be: none is left. */
function difference(max: number | undefined, current: number | undefined): number | undefined {
  if (max === undefined || current === undefined) return undefined;
  // Fewer than no processes make more than there can be of what is left, and are found by that.
  return Math.max(0, max - current);
}
