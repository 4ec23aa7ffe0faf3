import { abortable, checkOptions, StartOnce, TaskGroup, untilAborted } from '@node-agent/async';
import type { ObjectChange } from './change-feed.ts';
import { REFLECTOR_OPTIONS, type ReflectorComponents } from './reflector.ts';
import type { KubeObject } from './resource.ts';
import { SharedReflector, type SharedReflectorOptions } from './shared-reflector.ts';
import { ObjectStore } from './store.ts';
import type { WatchedObjects } from './watched-objects.ts';

/** Options of a {@link PartitionedReflector}. */
export interface PartitionedReflectorOptions<T> extends SharedReflectorOptions<T> {
  /** Returns the name of the partition to which an object belongs, for example the node of a pod. */
  readonly partitionOf: (object: T) => string;
}

/**
 * Splits one watched collection among many readers, such as the pods of a cluster among the kubelets of one process.
 * Each reader sees only the objects of its partition. Each object is in memory only once, however many readers there
 * are. If an object moves to another partition, the reader of the old partition sees a deletion and the reader of the
 * new one a new object.
 */
export class PartitionedReflector<T extends KubeObject> {
  readonly #shared: SharedReflector<T>;
  readonly #all: WatchedObjects<T>;
  readonly #partitionOf: (object: T) => string;
  readonly #partitions = new Map<string, Partition<T>>();
  readonly #startOnce = new StartOnce('PartitionedReflector');

  /** @throws OptionsError that names the invalid component or option */
  constructor(components: ReflectorComponents, options: PartitionedReflectorOptions<T>) {
    checkOptions('PartitionedReflector', options, {
      ...REFLECTOR_OPTIONS,
      minListIntervalMs: 'notNegative?',
      partitionOf: 'function',
    });
    const { partitionOf, ...ofShared } = options;
    this.#shared = new SharedReflector(components, ofShared);
    this.#all = this.#shared.view();
    this.#partitionOf = partitionOf;
  }

  /**
   * Returns a view of one partition for one reader. The view receives objects from now on until the signal of its
   * `start` is aborted; then another reader may request the partition.
   * @throws Error if the partition already has a reader
   */
  partition(name: string): WatchedObjects<T> {
    if (this.#partitions.has(name)) throw new Error(`partition ${name}: has a reader already`);
    const partition = new Partition<T>(this.#all, () => this.#partitions.delete(name));
    this.#partitions.set(name, partition);
    for (const object of this.#all.objects.values()) {
      if (this.#partitionOf(object) === name) partition.store.set(object);
    }
    if (this.#all.hasSynced) partition.synced();
    return partition;
  }

  /** Follows the collection until `signal` is aborted. */
  async start(signal: AbortSignal): Promise<void> {
    this.#startOnce.begin();
    const group = new TaskGroup(signal);
    group.add((ending) => this.#shared.start(ending));
    group.add((ending) => this.#all.start(ending));
    group.add(() => this.#distribute());
    await group.ended();
  }

  async #distribute(): Promise<void> {
    for await (const change of this.#all.changes()) this.#pass(change);
  }

  #pass(change: ObjectChange<T>): void {
    if (change.type === 'synced') {
      for (const partition of this.#partitions.values()) partition.synced();
      return;
    }
    const name = this.#partitionOf(change.object);
    if (change.type === 'deleted') {
      this.#partitions.get(name)?.store.delete(change.object);
      return;
    }
    const { object, previous } = change;
    const before = previous === undefined ? name : this.#partitionOf(previous);
    if (previous !== undefined && before !== name) this.#partitions.get(before)?.store.delete(previous);
    this.#partitions.get(name)?.store.set(object);
  }
}

/** The objects of one partition. */
class Partition<T extends KubeObject> implements WatchedObjects<T> {
  readonly store = new ObjectStore<T>();
  readonly #all: WatchedObjects<T>;
  readonly #leave: () => void;
  readonly #synced = Promise.withResolvers<void>();

  constructor(all: WatchedObjects<T>, leave: () => void) {
    this.#all = all;
    this.#leave = leave;
  }

  get objects(): ReadonlyMap<string, T> {
    return this.store.objects;
  }

  get hasSynced(): boolean {
    return this.store.synced;
  }

  /** Records that all objects of the first list have been passed on. */
  synced(): void {
    this.store.markSynced();
    this.#synced.resolve();
  }

  async waitForSync(signal?: AbortSignal): Promise<void> {
    await abortable(this.#synced.promise, signal);
  }

  changes(): ReturnType<WatchedObjects<T>['changes']> {
    return this.store.feed();
  }

  retryNow(): void {
    this.#all.retryNow();
  }

  listAnew(): void {
    this.#all.listAnew();
  }

  async start(signal: AbortSignal): Promise<void> {
    await untilAborted(signal);
    this.#leave();
    this.store.closeFeeds();
  }
}
