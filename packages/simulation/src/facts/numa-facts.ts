import type { Observation } from '../observation.ts';
import type { Life } from '../world/ledger.ts';
import { ROOT_DIRECTORY } from '../world/world.ts';

/** Memory that is allocated to a container from a group of NUMA nodes. */
export interface HeldMemory {
  readonly nodes: readonly number[];
  readonly resource: string;
  readonly bytes: number;
}

/** Allocations to containers, by pod UID and container name. */
export type Held<T> = ReadonlyMap<string, ReadonlyMap<string, T>>;

/** Allocations that the kubelet has stored, and changes of its policies. */
export class NumaFacts {
  /** Exclusive CPUs that the kubelet last stored. */
  cpus: Held<readonly number[]> = new Map();
  /** CPUs that all containers without CPUs of their pod share, as the kubelet last stored them. */
  shared: readonly number[] = [];
  /** CPUs of pods as a whole that the kubelet last stored, by pod UID. */
  podCpus: ReadonlyMap<string, readonly number[]> = new Map();
  /** Memory allocations that the kubelet last stored. */
  memory: Held<readonly HeldMemory[]> = new Map();
  /** Memory of pods as a whole that the kubelet last stored, by pod UID. */
  podMemory: ReadonlyMap<string, readonly HeldMemory[]> = new Map();
  /** CPUs to which a kubelet last restricted each running container, by container ID; absent without an update. */
  readonly #updatedTo = new Map<string, readonly number[]>();
  /** CPUs that users have requested for containers by a resize, in thousandths, by `uid/name`. */
  readonly #resized = new Map<string, number>();
  /** Times of the last resizes, by pod UID. */
  readonly #resizedAtMs = new Map<string, number>();
  /** Number of changes of the policies for CPUs and memory. */
  changes = 0;
  /** Time of the last change of the policies; -1 if there was none. */
  changedAtMs = -1;

  /** Returns the CPUs in thousandths that a user has requested for a container by a resize. */
  resizedTo(uid: string, container: string): number | undefined {
    return this.#resized.get(`${uid}/${container}`);
  }

  /** Time at which a user last requested other resources for a container of the pod; -1 if no user has. */
  resizedAtMs(uid: string): number {
    return this.#resizedAtMs.get(uid) ?? -1;
  }

  /** Returns the CPUs to which a running container is restricted, as far as the kubelet's calls show. */
  cpusOf({ id, cpus }: Life): readonly number[] {
    return this.#updatedTo.get(id) ?? parseCpus(cpus);
  }

  /** Updates the facts about allocations. Must be called before the invariants judge the observation. */
  observe(observation: Observation): void {
    if (observation.kind === 'policiesChanged') {
      this.changes++;
      this.changedAtMs = observation.atMs;
      this.shared = [];
      this.cpus = new Map();
      this.podCpus = new Map();
      this.memory = new Map();
      this.podMemory = new Map();
    }
    if (observation.kind === 'containerEnded') this.#updatedTo.delete(observation.life.id);
    if (observation.kind === 'action' && observation.action.do === 'apiResizeWhole') {
      const { uid, container, whole } = observation.action;
      this.#resized.set(`${uid}/${container}`, whole.cpuMillis);
      this.#resizedAtMs.set(uid, observation.atMs);
    }
    if (observation.kind !== 'call') return;
    const { port, name, args } = observation.call;
    if (name === 'updateContainerResources') this.#onUpdate((args[0] ?? {}) as CpusetUpdate);
    if (port !== 'fs' || name !== 'writeFileAtomic') return;
    const text = String(args[1]);
    if (args[0] === CPU_FILE) [this.cpus, this.podCpus, this.shared] = readCpus(text);
    if (args[0] === MEMORY_FILE) [this.memory, this.podMemory] = readMemory(text);
  }

  #onUpdate({ containerId = '', linux }: CpusetUpdate): void {
    const cpus = linux?.cpusetCpus ?? '';
    if (cpus !== '') this.#updatedTo.set(containerId, parseCpus(cpus));
  }
}

const CPU_FILE = `${ROOT_DIRECTORY}/cpu_manager_state`;
const MEMORY_FILE = `${ROOT_DIRECTORY}/memory_manager_state`;

/** State files in which the kubelet stores the allocations to containers. */
export const STATE_FILES: readonly string[] = [CPU_FILE, MEMORY_FILE];

/** A request to change the resources of a running container. */
export interface CpusetUpdate {
  readonly containerId?: string;
  readonly linux?: { readonly cpusetCpus?: string };
}

type Entries<T> = Readonly<Record<string, Readonly<Record<string, T>>>>;

/** Returns the CPUs of containers, those of pods as a whole, and the shared CPUs in a `cpu_manager_state`. */
function readCpus(
  text: string,
): [Held<readonly number[]>, ReadonlyMap<string, readonly number[]>, shared: readonly number[]] {
  type File = {
    readonly defaultCpuSet?: string;
    readonly entries?: Entries<string>;
    readonly podEntries?: Readonly<Record<string, { readonly cpuSet?: string }>>;
  };
  const { defaultCpuSet = '', entries = {}, podEntries = {} } = JSON.parse(text) as File;
  const pods = Object.entries(podEntries).map(([uid, { cpuSet = '' }]) => [uid, parseCpus(cpuSet)] as const);
  return [mapOf(entries, parseCpus), new Map(pods), parseCpus(defaultCpuSet)];
}

/** Returns the memory of containers, and the memory of pods as a whole, in a `memory_manager_state`. */
function readMemory(text: string): [Held<readonly HeldMemory[]>, ReadonlyMap<string, readonly HeldMemory[]>] {
  type Block = { readonly numaAffinity: readonly number[]; readonly type: string; readonly size: number };
  type File = {
    readonly entries?: Entries<readonly Block[]>;
    readonly podEntries?: Readonly<Record<string, { readonly memoryBlocks?: readonly Block[] }>>;
  };
  const { entries = {}, podEntries = {} } = JSON.parse(text) as File;
  const held = (blocks: readonly Block[]): readonly HeldMemory[] =>
    blocks.map(({ numaAffinity: nodes, type: resource, size: bytes }) => ({ nodes, resource, bytes }));
  const pods = Object.entries(podEntries).map(([uid, { memoryBlocks = [] }]) => [uid, held(memoryBlocks)] as const);
  return [mapOf(entries, held), new Map(pods)];
}

function mapOf<T, U>(entries: Entries<T>, read: (value: T) => U): Held<U> {
  return new Map(
    Object.entries(entries).map(([uid, containers]) => [
      uid,
      new Map(Object.entries(containers).map(([name, value]) => [name, read(value)])),
    ]),
  );
}

/** Returns the CPUs of a list in the kernel's notation, such as `0-3,8`. */
export function parseCpus(text: string): readonly number[] {
  if (text === '') return [];
  return text.split(',').flatMap((part) => {
    const [first = 0, last = first] = part.split('-').map(Number);
    return Array.from({ length: last - first + 1 }, (_, index) => first + index);
  });
}
