import { checkComponents, checkOptions } from '@node-agent/async';
import { CheckpointStore, type CheckpointStoreOptions } from '@node-agent/checkpoint';
import type { ResourceRequirements } from '@node-agent/pod-spec';
import { errorText } from '@node-agent/telemetry';
import { dataChecksum, decodePods, encodePods } from './checkpoint-format.ts';
import { AllocationError } from './errors.ts';
import type { PodResources } from './pod-resources.ts';

/** Upstream's names of the two state files, beneath the kubelet's root directory. */
export const ALLOCATED_PODS_STATE = 'allocated_pods_state';
export const ACTUATED_PODS_STATE = 'actuated_pods_state';

/** Where a {@link PodResourceState} is kept. */
export interface PodResourceStateComponents {
  readonly fs: ConstructorParameters<typeof CheckpointStore>[0]['fs'];
}

/**
 * Resources of pods that outlive the process (`pkg/kubelet/allocation/state`). What is set is known at once, and on disk when
 * {@link saved} says so: sets that come while a write is under way share the next one. Removals wait for the next write: a pod too
 * many in the file does no harm.
 */
export class PodResourceState {
  readonly #store: CheckpointStore;
  readonly #path: string;
  readonly #name: string;
  #pods = new Map<string, PodResources>();
  /** Grows with each set, so that it is known which of them a write has. */
  #version = 0;
  #writtenVersion = 0;
  readonly #versions = new Map<string, number>();
  #writing: Promise<void> | undefined;
  #loaded = false;
  #lastData: string | undefined;
  /** What the file has, of the pods of which that is certain. */
  #onDisk: Map<string, PodResources> = new Map();

  /** @param options `directory` is the kubelet's root directory, `name` the file in it */
  constructor(
    components: PodResourceStateComponents,
    options: Pick<CheckpointStoreOptions, 'directory'> & { readonly name: string },
  ) {
    checkOptions('PodResourceState', options, { directory: 'string', name: 'string' });
    checkComponents('PodResourceState', components, { fs: ['mkdir', 'open', 'readdir', 'remove', 'writeFileAtomic'] });
    const { fs } = components;
    this.#store = new CheckpointStore({ fs }, { directory: options.directory, checksum: dataChecksum });
    this.#name = options.name;
    this.#path = `${options.directory}/${options.name}`;
  }

  /** Removes what a process that was killed left half written, of any state in the directory; to be called before any is written. */
  async removeLeftovers(): Promise<void> {
    await this.#store.removeLeftovers();
  }

  /** Reads what an earlier process has written. @throws AllocationError `Unreadable`, in upstream's words */
  async load(): Promise<void> {
    try {
      const stored = await this.#store.get(this.#name);
      if (stored !== undefined) {
        this.#onDisk = new Map(decodePods(stored));
        this.#lastData = String(stored.data);
        // What was set before is newer.
        this.#pods = new Map([...this.#onDisk, ...this.#pods]);
      }
      this.#loaded = true;
    } catch (err) {
      const message = `could not restore state from checkpoint: ${errorText(err)}, please drain this node and delete pod resource information checkpoint file ${JSON.stringify(this.#path)} before restarting Kubelet`;
      throw new AllocationError('Unreadable', message, { cause: err });
    }
  }

  get(uid: string): PodResources | undefined {
    return this.#pods.get(uid);
  }

  uids(): readonly string[] {
    return [...this.#pods.keys()];
  }

  set(uid: string, resources: PodResources): void {
    this.#pods.set(uid, resources);
    this.#versions.set(uid, ++this.#version);
  }

  setContainer(uid: string, name: string, resources: ResourceRequirements): void {
    const before = this.#pods.get(uid);
    this.set(uid, { ...before, containers: { ...before?.containers, [name]: resources } });
  }

  setPod(uid: string, resources: ResourceRequirements): void {
    this.set(uid, { containers: {}, ...this.#pods.get(uid), pod: resources });
  }

  remove(uid: string): void {
    this.#pods.delete(uid);
    this.#versions.delete(uid);
  }

  /** Removes all pods but these. */
  retain(uids: { has(uid: string): boolean }): void {
    for (const uid of this.uids()) if (!uids.has(uid)) this.remove(uid);
  }

  /**
   * Resolves once what was set of the pod is on disk. What could not be written is tried anew; what is there already, as an earlier process
   * has left it, needs no write, which a full disk would refuse.
   * @throws the file system's error; AllocationError `Unreadable` where nothing was loaded, and cannot be
   */
  async saved(uid: string): Promise<void> {
    while ((this.#versions.get(uid) ?? 0) > this.#writtenVersion) {
      // A write that is under way may have something else of it.
      if (this.#writing === undefined && isSame(this.#onDisk.get(uid), this.#pods.get(uid))) return;
      this.#writing ??= this.#write().finally(() => {
        this.#writing = undefined;
      });
      await this.#writing;
    }
  }

  async #write(): Promise<void> {
    // Whoever did not load must not write over what an earlier process has left.
    if (!this.#loaded) await this.load();
    const version = this.#version;
    const pods = new Map(this.#pods);
    const content = encodePods(pods);
    try {
      if (content.data !== this.#lastData) await this.#store.create(this.#name, content);
    } catch (err) {
      // It may have got as far as the disk all the same.
      this.#lastData = undefined;
      for (const [uid, resources] of this.#onDisk) if (!isSame(resources, pods.get(uid))) this.#onDisk.delete(uid);
      throw err;
    }
    this.#lastData = content.data;
    this.#onDisk = pods;
    this.#writtenVersion = version;
  }
}

/** As they are written. */
function isSame(a: PodResources | undefined, b: PodResources | undefined): boolean {
  if (a === undefined || b === undefined) return false;
  const textOf = (resources: PodResources): string => encodePods(new Map([['', resources]])).data;
  return a === b || textOf(a) === textOf(b);
}
