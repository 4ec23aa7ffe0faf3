/** Node conditions that report a shortage. */
export type PressureCondition = 'MemoryPressure' | 'DiskPressure' | 'PIDPressure';

/** Resource that is short, as named in messages, annotations and upstream's logs. */
export type StarvedResource = 'memory' | 'ephemeral-storage' | 'inodes' | 'pids';

/** Eviction signals (`pkg/kubelet/eviction/api/types.go`). All thresholds have the operator "less than". */
export type Signal =
  | 'memory.available'
  | 'allocatableMemory.available'
  | 'nodefs.available'
  | 'nodefs.inodesFree'
  | 'imagefs.available'
  | 'imagefs.inodesFree'
  | 'containerfs.available'
  | 'containerfs.inodesFree'
  | 'pid.available';

interface SignalFacts {
  readonly resource: StarvedResource;
  readonly condition: PressureCondition;
}

const MEMORY: SignalFacts = { resource: 'memory', condition: 'MemoryPressure' };
const BYTES: SignalFacts = { resource: 'ephemeral-storage', condition: 'DiskPressure' };
const INODES: SignalFacts = { resource: 'inodes', condition: 'DiskPressure' };

const FACTS: Readonly<Record<Signal, SignalFacts>> = {
  'memory.available': MEMORY,
  'allocatableMemory.available': MEMORY,
  'nodefs.available': BYTES,
  'nodefs.inodesFree': INODES,
  'imagefs.available': BYTES,
  'imagefs.inodesFree': INODES,
  'containerfs.available': BYTES,
  'containerfs.inodesFree': INODES,
  'pid.available': { resource: 'pids', condition: 'PIDPressure' },
};

export const SIGNALS: readonly Signal[] = Object.keys(FACTS) as Signal[];

export function isSignal(name: string): name is Signal {
  return Object.hasOwn(FACTS, name);
}

export function resourceOf(signal: Signal): StarvedResource {
  return FACTS[signal].resource;
}

export function conditionOf(signal: Signal): PressureCondition {
  return FACTS[signal].condition;
}
