import { removeUnfinishedFiles } from '@node-agent/host';
import { errorText, type Logger } from '@node-agent/telemetry';
import { startingCpuState } from '../cpu/check-cpu-state.ts';
import { type CpuState, cpusOf, noCpus, withoutContainer, withoutPod } from '../cpu/cpu-assignments.ts';
import type { CpuSet } from '../cpuset/cpu-set.ts';
import { ContainerResourcesError } from '../errors.ts';
import { withoutMemory, withoutPodMemory } from '../memory/freed-memory.ts';
import { blocksOf, type MemoryState, noMemory } from '../memory/memory-state.ts';
import { startingMemoryState } from '../memory/starting-memory.ts';
import {
  type ContainerRef,
  CPU_STATE_FILE,
  decodeCpuState,
  encodeCpuState,
  hasContainerIds,
} from '../state/cpu-checkpoint.ts';
import { decodeMemoryState, encodeMemoryState, MEMORY_STATE_FILE } from '../state/memory-checkpoint.ts';
import { StateFile, type StateFiles } from '../state/state-file.ts';
import type { Policies } from './policies.ts';

/** Names of the containers of a pod that have CPUs or memory at one point in time. */
export interface HeldContainers {
  readonly cpus: ReadonlySet<string>;
  readonly memory: ReadonlySet<string>;
}

/**
 * Record of the CPUs and memory that containers have, in this process and in the two state files `cpu_manager_state`
 * and `memory_manager_state`.
 */
export class Ledger {
  cpu: CpuState = noCpus;
  memory: MemoryState = noMemory;
  readonly #logger: Logger;
  readonly #fs: StateFiles;
  readonly #directory: string;
  readonly #policies: Policies;
  readonly #cpuFile: StateFile;
  readonly #memoryFile: StateFile;
  /** Whether a write at the start or in the background failed and no write that began later has succeeded. */
  #isUnwritten = false;
  /** Number of failed writes at the start and in the background. */
  #failures = 0;

  constructor(
    { fs, logger }: { readonly fs: StateFiles; readonly logger: Logger },
    directory: string,
    policies: Policies,
  ) {
    this.#fs = fs;
    this.#logger = logger;
    this.#directory = directory;
    this.#policies = policies;
    const [cpuPolicy, memoryPolicy] = [policies.cpus ? 'static' : 'none', policies.unusedMemory ? 'Static' : 'None'];
    this.#cpuFile = new StateFile(fs, directory, CPU_STATE_FILE, () =>
      encodeCpuState({ policyName: cpuPolicy, ...this.cpu }),
    );
    this.#memoryFile = new StateFile(fs, directory, MEMORY_STATE_FILE, () =>
      encodeMemoryState({ policyName: memoryPolicy, ...this.memory }),
    );
  }

  /**
   * Reads the state files of an earlier kubelet, checks them against the policies and the machine, and writes the files
   * that are missing or must change. A failed write is logged, and {@link retryWrite} repeats it: the kubelet must start
   * on a full or read-only disk (K1), and a new allocation is used only after its own write has succeeded.
   * @param known returns containers by id, for a file of version 1
   * @throws ContainerResourcesError `StateRefused`; errors of the file system
   */
  async load(known: () => Promise<ReadonlyMap<string, ContainerRef>>): Promise<void> {
    await removeUnfinishedFiles(this.#fs, this.#directory).catch((err: unknown) => {
      this.#logger.warn({ err }, 'Failed to remove unfinished state files of an earlier process');
    });
    const { cpus, unusedMemory, podLevel } = this.#policies;
    const cpu = await this.#stored(this.#cpuFile, 'CPU', 'cpu', cpus ? 'static' : 'none', async (text) =>
      decodeCpuState(text, hasContainerIds(text) ? await known() : new Map(), podLevel),
    );
    const memory = await this.#stored(
      this.#memoryFile,
      'memory',
      'memory',
      unusedMemory ? 'Static' : 'None',
      async (text) => decodeMemoryState(text, podLevel),
    );
    if (cpus !== undefined) {
      const { strictReservation } = cpus.options;
      const inventory = { all: cpus.topology.cpus, reserved: cpus.reserved, strictReservation };
      this.cpu = started('cpu', startingCpuState(cpu ?? noCpus, inventory));
    }
    if (unusedMemory !== undefined) {
      this.memory = started('memory', startingMemoryState(memory ?? noMemory, unusedMemory));
    }
    if (podLevel) {
      // With the gate, the files have the version with pod-level CPUs and memory, even if no pod has any.
      this.cpu = { ...this.cpu, pods: this.cpu.pods ?? new Map() };
      this.memory = { ...this.memory, pods: this.memory.pods ?? new Map() };
    }
    await this.#tryWrite();
  }

  /**
   * Returns the CPUs on which a container runs: its own ones, or the shared ones. With `strict-cpu-reservation`, all CPUs
   * that are not reserved may be exclusive; other containers then run on the reserved CPUs. Upstream does not restrict
   * these containers, so they also run on the exclusive CPUs of others. Empty with the policy `none`.
   */
  cpusOf(podUid: string, container: string): CpuSet {
    const own = cpusOf(this.cpu, podUid, container);
    if (own !== undefined) return own;
    const { cpus } = this.#policies;
    return this.cpu.shared.isEmpty && cpus !== undefined ? cpus.reserved : this.cpu.shared;
  }

  /** Resolves when both files have the current state. @throws ContainerResourcesError `StateNotWritten` */
  async write(): Promise<void> {
    const failures = this.#failures;
    await Promise.all([this.#cpuFile.write(), this.#memoryFile.write()]);
    if (failures === this.#failures) this.#isUnwritten = false;
  }

  /**
   * Writes both files in the background. A write in the background is enough after resources were freed: after a
   * restart before the write, the kubelet would free the resources again.
   */
  writeSoon(): void {
    void this.#tryWrite();
  }

  /** Whether a write at the start or in the background failed, so that {@link retryWrite} repeats it. */
  get isUnwritten(): boolean {
    return this.#isUnwritten;
  }

  /** Writes both files in the background if an earlier write at the start or in the background failed. */
  retryWrite(): void {
    if (this.#isUnwritten) this.writeSoon();
  }

  /** Returns the UIDs of the pods that have CPUs or memory. */
  uids(): readonly string[] {
    return [...new Set([...this.cpu.assignments.keys(), ...this.memory.assignments.keys()])];
  }

  /** Returns the containers of a pod that have CPUs or memory. */
  held(podUid: string): HeldContainers {
    return {
      cpus: new Set(this.cpu.assignments.get(podUid)?.keys()),
      memory: new Set(this.memory.assignments.get(podUid)?.keys()),
    };
  }

  /** Returns whether more containers of the pod have CPUs or memory than in `before`. */
  hasMore(podUid: string, before: HeldContainers): boolean {
    const { cpus, memory } = this.held(podUid);
    return cpus.size > before.cpus.size || memory.size > before.memory.size;
  }

  /** Frees the CPUs and memory that a pod got since `before`. */
  revert(podUid: string, before: HeldContainers): void {
    const { cpus, memory } = this.held(podUid);
    for (const name of cpus) if (!before.cpus.has(name)) this.cpu = withoutContainer(this.cpu, podUid, name);
    for (const name of memory) if (!before.memory.has(name)) this.memory = withoutMemory(this.memory, podUid, name);
  }

  removePod(podUid: string): void {
    ({ cpu: this.cpu, memory: this.memory } = this.without([podUid]));
  }

  /** Returns the state as it would be if pods had no CPUs and memory. */
  without(podUids: readonly string[]): Pick<Ledger, 'cpu' | 'memory'> {
    return { cpu: podUids.reduce(withoutPod, this.cpu), memory: podUids.reduce(withoutPodMemory, this.memory) };
  }

  /** Frees the memory of a container. @returns whether the container had memory */
  removeMemory(podUid: string, container: string): boolean {
    if (blocksOf(this.memory, podUid, container) === undefined) return false;
    this.memory = withoutMemory(this.memory, podUid, container);
    return true;
  }

  /** Returns whether the container has exclusive CPUs. */
  hasCpus(podUid: string, container: string): boolean {
    return cpusOf(this.cpu, podUid, container) !== undefined;
  }

  /** Writes both files; a failure is logged. */
  async #tryWrite(): Promise<void> {
    try {
      await this.write();
    } catch (err) {
      if (!this.#isUnwritten) this.#logger.error({ err }, 'Failed to store state to checkpoint');
      this.#isUnwritten = true;
      this.#failures += 1;
    }
  }

  async #stored<T extends { readonly policyName: string }>(
    file: StateFile,
    owner: string,
    manager: string,
    policy: string,
    decode: (text: string) => Promise<T>,
  ): Promise<T | undefined> {
    const text = await file.read();
    if (text === undefined) return undefined;
    try {
      const state = await decode(text);
      if (state.policyName === policy) return state;
      const prefix = manager === 'memory' ? '[memorymanager] ' : '';
      throw new Error(
        `${prefix}configured policy "${policy}" differs from state checkpoint policy "${state.policyName}"`,
      );
    } catch (cause) {
      const advice = `please drain this node and delete the ${owner} manager checkpoint file ${JSON.stringify(file.path)}`;
      const problem = `could not restore state from checkpoint: ${errorText(cause)}, ${advice} before restarting Kubelet`;
      throw new ContainerResourcesError('StateRefused', `start ${manager} manager error: ${problem}`, { cause });
    }
  }
}

/**
 * Returns the state, or throws if the state is the description of a problem. @throws ContainerResourcesError
 * `StateRefused`
 */
function started<T extends object>(manager: string, state: T | string): T {
  if (typeof state !== 'string') return state;
  throw new ContainerResourcesError('StateRefused', `start ${manager} manager error: ${state}`);
}
