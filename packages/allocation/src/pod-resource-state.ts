import { checkComponents, checkOptions } from '@node-agent/async';
import { CheckpointStore, type CheckpointStoreOptions } from '@node-agent/checkpoint';
import type { ResourceRequirements } from '@node-agent/pod-spec';
import { errorText } from '@node-agent/telemetry';
import { decodePods, podText } from './checkpoint-format.ts';
import { AllocationError } from './errors.ts';
import type { PodResources } from './pod-resources.ts';
import { PodsText } from './pods-text.ts';

/**
 * Name of the file with the allocated resources, in the kubelet's root directory. The names of both state files are
 * upstream's.
 */
export const ALLOCATED_PODS_STATE = 'allocated_pods_state';
export const ACTUATED_PODS_STATE = 'actuated_pods_state';

/** Dependencies of a {@link PodResourceState}. */
export interface PodResourceStateComponents {
  readonly fs: ConstructorParameters<typeof CheckpointStore>[0]['fs'];
}

/** A write of the state file. Both promises reject if the write fails before they resolve. */
interface StateWrite {
  /** Resolves when the file has the new content, which a power loss may still undo. */
  readonly written: Promise<void>;
  /** Resolves when the new content survives a power loss. */
  readonly saved: Promise<void>;
}

/**
 * Resources of pods that survive a restart (`pkg/kubelet/allocation/state`). A change is visible immediately and on
 * disk when {@link saved} resolves. Changes during a running write share the next write. Removals are written with a
 * later change, because an extra pod in the file is harmless: a kubelet drops it when it starts.
 */
export class PodResourceState {
  readonly #store: CheckpointStore;
  readonly #path: string;
  readonly #name: string;
  #pods = new Map<string, PodResources>();
  /** Incremented with each change, to determine which changes a write includes. */
  #version = 0;
  #savedVersion = 0;
  /** Last version that a process reads that starts after this one is killed. */
  #writtenVersion = 0;
  readonly #versions = new Map<string, number>();
  #writing: StateWrite | undefined;
  #loaded = false;
  #lastData: string | undefined;
  readonly #text = new PodsText();
  /** UIDs of the pods that were set or removed, but whose change no successful write includes yet. */
  readonly #changed = new Set<string>();
  /** Content of the file, as far as known. Entries that a failed write may have changed are left out. */
  #onDisk: Map<string, PodResources> = new Map();

  /** @param options `directory`: the kubelet's root directory; `name`: the file in it */
  constructor(
    components: PodResourceStateComponents,
    options: Pick<CheckpointStoreOptions, 'directory'> & { readonly name: string },
  ) {
    checkOptions('PodResourceState', options, { directory: 'string', name: 'string' });
    checkComponents('PodResourceState', components, { fs: ['mkdir', 'open', 'readdir', 'remove', 'writeFileAtomic'] });
    const { fs } = components;
    const checksum = this.#text.checksum.bind(this.#text);
    this.#store = new CheckpointStore({ fs }, { directory: options.directory, checksum });
    this.#name = options.name;
    this.#path = `${options.directory}/${options.name}`;
  }

  /**
   * Removes unfinished files of a killed process, for all state files in the directory. Must be called before any of
   * these files is written.
   */
  async removeLeftovers(): Promise<void> {
    await this.#store.removeLeftovers();
  }

  /** Makes what a killed process wrote survive a power loss, for all state files in the directory. */
  async syncDirectory(): Promise<void> {
    await this.#store.syncDirectory();
  }

  /** Reads the state of an earlier process. @throws AllocationError `Unreadable` in upstream's wording */
  async load(): Promise<void> {
    try {
      const stored = await this.#store.get(this.#name);
      if (stored !== undefined) {
        this.#onDisk = new Map(decodePods(stored));
        this.#lastData = String(stored.data);
        // Changes made before the read are newer.
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
    this.#changed.add(uid);
  }

  setContainer(uid: string, name: string, resources: ResourceRequirements): void {
    const before = this.#pods.get(uid);
    this.set(uid, { ...before, containers: { ...before?.containers, [name]: resources } });
  }

  setPod(uid: string, resources: ResourceRequirements): void {
    this.set(uid, { containers: {}, ...this.#pods.get(uid), pod: resources });
  }

  remove(uid: string): void {
    if (this.#pods.delete(uid)) this.#changed.add(uid);
    this.#versions.delete(uid);
  }

  /** Removes all pods except those in `uids`. */
  retain(uids: { has(uid: string): boolean }): void {
    for (const uid of this.uids()) if (!uids.has(uid)) this.remove(uid);
  }

  /**
   * Resolves when the pod's latest change is on disk. A failed write is retried. If the file already contains the
   * values, nothing is written, so that this succeeds even on a full disk.
   * @throws the file system's error; AllocationError `Unreadable` if the state was not loaded and cannot be loaded
   */
  async saved(uid: string): Promise<void> {
    while ((this.#versions.get(uid) ?? 0) > this.#savedVersion) {
      if (this.#isOnDisk(uid)) return;
      await this.#write().saved;
    }
  }

  /**
   * Resolves when a process that starts after this one is killed reads the pod's latest change. Unlike with
   * {@link saved}, a power loss may still undo the change. @throws see {@link saved}
   */
  async written(uid: string): Promise<void> {
    const isWritten = (): boolean => (this.#versions.get(uid) ?? 0) <= this.#writtenVersion;
    while (!isWritten()) {
      if (this.#isOnDisk(uid)) return;
      const write = this.#write();
      await write.written;
      // The write began before the change, so the next write contains the change.
      if (!isWritten()) await write.saved;
    }
  }

  /** Reports whether the file has the pod's values. False during a write, which may contain older values. */
  #isOnDisk(uid: string): boolean {
    return this.#writing === undefined && isSame(this.#onDisk.get(uid), this.#pods.get(uid));
  }

  /** Returns the running write, or starts one. */
  #write(): StateWrite {
    if (this.#writing !== undefined) return this.#writing;
    const { promise: written, resolve, reject } = Promise.withResolvers<void>();
    const saved = this.#writeFile(resolve).finally(() => {
      this.#writing = undefined;
    });
    saved.then(resolve, reject);
    // A caller may wait for only one of the promises.
    written.catch(() => undefined);
    this.#writing = { written, saved };
    return this.#writing;
  }

  async #writeFile(onWritten: () => void): Promise<void> {
    // Without a load, a write would overwrite the state of an earlier process.
    if (!this.#loaded) await this.load();
    const version = this.#version;
    const changed = new Map([...this.#changed].map((uid) => [uid, this.#pods.get(uid)]));
    this.#changed.clear();
    const content = this.#text.update(this.#pods, changed.keys());
    try {
      const onReplaced = (): void => {
        this.#writtenVersion = version;
        onWritten();
      };
      if (content.data !== this.#lastData) await this.#store.create(this.#name, content, onReplaced);
    } catch (err) {
      // The content of the file is unknown now, because the failed write may still have reached the disk.
      this.#lastData = undefined;
      for (const [uid, resources] of changed) {
        if (!isSame(this.#onDisk.get(uid), resources)) this.#onDisk.delete(uid);
        this.#changed.add(uid);
      }
      throw err;
    }
    this.#lastData = content.data;
    for (const [uid, resources] of changed) {
      if (resources === undefined) this.#onDisk.delete(uid);
      else this.#onDisk.set(uid, resources);
    }
    this.#savedVersion = version;
    this.#writtenVersion = version;
  }
}

/** Reports whether two resources have the same encoded form. */
function isSame(a: PodResources | undefined, b: PodResources | undefined): boolean {
  if (a === undefined || b === undefined) return false;
  return a === b || podText(a) === podText(b);
}
