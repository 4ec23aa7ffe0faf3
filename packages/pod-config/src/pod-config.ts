import { abortable, type Clock, checkComponents, checkOptions, TimeSlice } from '@node-agent/async';
import { type Pod, type PodSource, podFullName, podReference } from '@node-agent/pod-spec';
import { type EventRecorder, eventReasons, type Logger, type WithDefaults, withDefaults } from '@node-agent/telemetry';
import { type ChangesDiff, diffChanges } from './diff-changes.ts';
import { type DuplicatePod, PodComparison, type PodMarks } from './diff-pods.ts';
import { PodConfigError } from './errors.ts';
import type { PodOperation, PodUpdate } from './pod-update.ts';

/** Components of a {@link PodConfig}. */
export interface PodConfigComponents {
  /** Default: the system clock. */
  readonly clock?: Clock;
  /** Default: no logging. */
  readonly logger?: Logger;
  /** Default: no events. */
  readonly recorder?: EventRecorder;
}

/**
 * Form of the updates, as in upstream's `PodConfigNotificationMode`. `incremental`: only changes. `snapshot`: a `SET`
 * of all pods after each change. `snapshotAndUpdates`: a `SET` when pods are added or removed, otherwise only changes.
 */
export type PodConfigMode = 'incremental' | 'snapshot' | 'snapshotAndUpdates';

export interface PodConfigOptions {
  /** Form of the updates. Default: `incremental`. */
  readonly mode?: PodConfigMode;
}

/** If more pods than this have changed, all pods are compared, in portions. */
const MAX_AT_ONCE = 100;

/**
 * Passes all pods of a source to the mux. @throws PodConfigError `InvalidPods` if the argument is not a list of pods;
 * the state is then unchanged
 */
export type SetPods = (pods: readonly Pod[]) => void;

/** A change of one pod of a source. `gone`: the source no longer has the pod. */
export type PodChangeEvent = { readonly pod: Pod; readonly gone?: boolean };

/**
 * Input of a source: the function itself takes the list of all pods; after the first list, `change` takes the changes
 * since.
 */
export interface PodSourceInput extends SetPods {
  /**
   * Passes the pods that have changed since the last list. A pod is identified by its name and namespace. If two pods
   * of the list have the same name, the first one is kept.
   * @throws PodConfigError `InvalidPods` if a change is not a pod; the state is then unchanged
   */
  readonly change: (changes: readonly PodChangeEvent[]) => void;
}

/**
 * Merges the pods of all sources into one stream of changes (`pkg/kubelet/config/config.go`).
 *
 * The lists of the sources are compared only when the consumer requests the next update: a slow consumer gets fewer and
 * larger changes, and nothing accumulates. A pod belongs to the source that first delivered its UID until that source
 * drops the pod (F2). A pod of another source with the same UID is reported, and accepted when the UID becomes free.
 */
export class PodConfig {
  /** The changes in order, for one consumer. Ends after {@link close}. */
  readonly updates: AsyncIterable<PodUpdate>;
  readonly #components: WithDefaults<PodConfigComponents>;
  readonly #mode: PodConfigMode;
  readonly #sources = new Map<PodSource, SourceState>();
  /** Resolved whenever a source becomes ready, and by `close`. */
  #nextSeen = Promise.withResolvers<void>();
  #closed = false;
  #wake: () => void = () => {};

  constructor(components: PodConfigComponents = {}, options: PodConfigOptions = {}) {
    checkOptions('PodConfig', options, { mode: [undefined, 'incremental', 'snapshot', 'snapshotAndUpdates'] });
    checkComponents('PodConfig', components, {});
    this.#components = withDefaults(components);
    this.#mode = options.mode ?? 'incremental';
    const stream = this.#stream();
    this.updates = { [Symbol.asyncIterator]: () => stream };
  }

  /** Registers a source and returns its input function. Returns the same function for the same name. */
  addSource(name: PodSource): PodSourceInput {
    const known = this.#sources.get(name);
    if (known !== undefined) return known.input;
    const state: SourceState = {
      pods: new Map(),
      names: new Map(),
      refused: new Set(),
      latest: [],
      pending: undefined,
      seen: false,
      reported: new Set(),
      input: Object.assign(
        (pods: readonly Pod[]) => {
          checkPods(name, pods);
          state.latest = pods;
          state.pending = 'all';
          this.#wake();
        },
        {
          change: (changes: readonly PodChangeEvent[]) => {
            const pods = changes.map(({ pod }) => pod);
            checkPods(name, pods);
            noteChanges(state, changes);
            this.#wake();
          },
        },
      ),
    };
    this.#sources.set(name, state);
    return state.input;
  }

  /**
   * Returns whether the source is ready: it has delivered its pods, and the consumer has requested the next update
   * after receiving them. Before that, a running pod that is missing from the configuration may still turn out to be
   * wanted (F1).
   */
  sourceReady(name: PodSource): boolean {
    return this.#sources.get(name)?.seen ?? false;
  }

  /** Returns whether {@link sourceReady} holds for every registered source (F1). */
  seenAllSources(): boolean {
    return [...this.#sources.values()].every((source) => source.seen);
  }

  /**
   * Resolves when {@link seenAllSources} becomes true. @throws the signal's reason; PodConfigError `Closed` if it can
   * no longer become true
   */
  async allSourcesSeen(signal?: AbortSignal): Promise<void> {
    while (!this.seenAllSources()) {
      if (this.#closed) throw new PodConfigError('Closed', 'closed before all sources of pods were seen');
      await abortable(this.#nextSeen.promise, signal);
    }
  }

  /** Ends {@link updates} and the waits for sources that are not ready. Changes not yet requested are dropped. */
  close(): void {
    this.#closed = true;
    this.#wake();
    this.#nextSeen.resolve();
  }

  async *#stream(): AsyncGenerator<PodUpdate, void, undefined> {
    while (!this.#closed) {
      const next = [...this.#sources].find(([, state]) => state.pending !== undefined);
      if (next === undefined) {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
        continue;
      }
      const [name, state] = next;
      yield* this.#mergeChanges(name, state) ?? (await this.#mergeAll(name, state));
      if (!state.seen) {
        state.seen = true;
        const { resolve } = this.#nextSeen;
        this.#nextSeen = Promise.withResolvers();
        resolve();
      }
    }
  }

  /**
   * Compares only the changed pods. Returns `undefined` if all pods must be compared, because some pods are ignored or
   * will be.
   */
  #mergeChanges(name: PodSource, state: SourceState): readonly PodUpdate[] | undefined {
    const { pending, pods, names, refused, reported, seen } = state;
    if (pending === undefined || pending === 'all' || pending.size > MAX_AT_ONCE || !seen) return undefined;
    if (refused.size > 0 || reported.size > 0) return undefined;
    const others = [...this.#sources].filter(([other]) => other !== name);
    const known = {
      byUid: (uid: string) => pods.get(uid),
      byFullName: (fullName: string) => pods.get(names.get(fullName) ?? ''),
      isHeld: (uid: string) => others.some(([, other]) => other.pods.has(uid)),
    };
    const diff = diffChanges(known, pending, this.#marks(name));
    if (diff === undefined) return undefined;
    state.pending = undefined;
    for (const pod of diff.removed) pods.delete(pod.metadata.uid);
    for (const pod of [...diff.added, ...diff.updated, ...diff.deleted, ...diff.reconciled]) {
      pods.set(pod.metadata.uid, pod);
    }
    for (const [fullName, pod] of pending) {
      if (pod === undefined) names.delete(fullName);
      else names.set(fullName, pod.metadata.uid);
    }
    for (const pod of diff.removed) this.#offerAgain(name, pod.metadata.uid);
    return this.#updates(name, diff, false);
  }

  /** Compares the newest list in portions: after a disconnection the list may contain thousands of changed pods. */
  async #mergeAll(name: PodSource, state: SourceState): Promise<readonly PodUpdate[]> {
    const { latest } = state;
    const pods = latest instanceof Map ? [...latest.values()] : latest;
    state.pending = undefined;
    const held = this.#held(name, pods);
    const comparison = new PodComparison(state.pods, this.#marks(name));
    const byName = new Map<string, Pod>();
    const names = new Map<string, string>();
    const slice = new TimeSlice(this.#components);
    for (const pod of pods) {
      const fullName = podFullName(pod);
      if (!byName.has(fullName)) byName.set(fullName, pod);
      names.set(fullName, pod.metadata.uid);
      if (!held.has(pod)) comparison.add(pod);
      if (slice.isDue()) await slice.pause();
    }
    // A newer list or the next changes may have arrived during the comparison. Pods of the same name are kept, because
    // another source may hold the first of them.
    if (state.latest === pods && state.pending === undefined && byName.size === pods.length) state.latest = byName;
    const diff = comparison.end();
    state.pods = new Map(diff.pods);
    state.names = names;
    state.refused = new Set([...held.keys()].map((pod) => pod.metadata.uid));
    for (const pod of diff.removed) this.#offerAgain(name, pod.metadata.uid);
    this.#reportIgnored(name, state, held, diff.duplicates);
    return this.#updates(name, diff, !state.seen);
  }

  #marks(source: PodSource): PodMarks {
    return { source, seenAt: rfc3339Nano(this.#components.clock.now()) };
  }

  #reportIgnored(
    name: PodSource,
    state: SourceState,
    held: ReadonlyMap<Pod, PodSource>,
    duplicates: readonly DuplicatePod[],
  ): void {
    const reports = new Map<string, Report>();
    const add = (pod: Pod, why: string): unknown => reports.set(`${pod.metadata.uid} ${why}`, { pod, why });
    for (const [pod, source] of held) {
      add(pod, `duplicate pod uid ${JSON.stringify(pod.metadata.uid)} of source ${source}`);
    }
    for (const { pod, key } of duplicates) add(pod, `duplicate pod ${key} ${JSON.stringify(pod.metadata[key])}`);
    for (const [key, report] of reports) if (!state.reported.has(key)) this.#report(name, report);
    state.reported = new Set(reports.keys());
  }

  /** Returns the pods whose UID belongs to another source, with that source. */
  #held(name: PodSource, pods: readonly Pod[]): ReadonlyMap<Pod, PodSource> {
    const held = new Map<Pod, PodSource>();
    for (const [other, state] of this.#sources) {
      if (other === name || state.pods.size === 0) continue;
      for (const pod of pods) if (!held.has(pod) && state.pods.has(pod.metadata.uid)) held.set(pod, other);
    }
    return held;
  }

  #offerAgain(freedBy: PodSource, uid: string): void {
    for (const [name, state] of this.#sources) {
      if (name !== freedBy && state.refused.has(uid)) state.pending = 'all';
    }
  }

  #report(source: PodSource, { pod, why }: Report): void {
    const { name, namespace, uid } = pod.metadata;
    this.#components.logger.warn({ pod: `${namespace}/${name}`, podUid: uid, source, why }, 'Pod is ignored');
    this.#components.recorder.event(
      podReference(pod),
      'Warning',
      eventReasons.failedValidation,
      `Error validating pod ${name}_${namespace}(${uid}) from ${source} due to ${why}, ignoring`,
    );
  }

  #updates(source: PodSource, diff: ChangesDiff, first: boolean): readonly PodUpdate[] {
    const of = (op: PodOperation, pods: readonly Pod[]): PodUpdate[] => (pods.length > 0 ? [{ op, source, pods }] : []);
    const removes = of('REMOVE', diff.removed);
    const adds = of('ADD', diff.added);
    const updates = of('UPDATE', diff.updated);
    const deletes = of('DELETE', diff.deleted);
    const reconciles = of('RECONCILE', diff.reconciled);
    if (this.#mode === 'incremental') {
      const silent = adds.length + updates.length + deletes.length === 0;
      const ready: PodUpdate[] = first && silent ? [{ op: 'ADD', source, pods: [] }] : [];
      return [...removes, ...adds, ...updates, ...deletes, ...ready, ...reconciles];
    }
    const all = [...this.#sources.values()].flatMap(({ pods }) => [...pods.values()]);
    const snapshot: PodUpdate = { op: 'SET', source, pods: all };
    const comeOrGone = first || removes.length + adds.length > 0;
    if (this.#mode === 'snapshotAndUpdates') return [...(comeOrGone ? [snapshot] : []), ...updates, ...deletes];
    return comeOrGone || updates.length + deletes.length > 0 ? [snapshot] : [];
  }
}

/** Validates the pods when a source passes them, so that the error reaches the source that caused it. */
function checkPods(name: PodSource, pods: unknown): void {
  if (!Array.isArray(pods)) throw invalidPods(name, `${String(pods)} is not a list`);
  for (const [index, pod] of pods.entries()) {
    const { uid } = (pod as Partial<Pod> | null | undefined)?.metadata ?? {};
    if (typeof uid !== 'string') throw invalidPods(name, `[${index}] is not a pod with a UID`);
  }
}

function invalidPods(name: PodSource, why: string): PodConfigError {
  return new PodConfigError('InvalidPods', `pods of source ${name}: ${why}`);
}

interface SourceState {
  /** Pods that the consumer knows, by UID. */
  pods: Map<string, Pod>;
  /** UIDs of these pods by the full name that the source uses. */
  names: Map<string, string>;
  /** UIDs of this source's pods that another source holds. */
  refused: ReadonlySet<string>;
  /** Newest list of the source; by full name once the list has been compared or the source has delivered changes. */
  latest: readonly Pod[] | Map<string, Pod>;
  /**
   * The part of `latest` that has not been compared with `pods` yet, by full name; the value is `undefined` if the
   * source no longer has the pod.
   */
  pending: 'all' | Map<string, Pod | undefined> | undefined;
  seen: boolean;
  /** Problems reported for the list last compared; they are not reported again. */
  reported: ReadonlySet<string>;
  readonly input: PodSourceInput;
}

function noteChanges(state: SourceState, changes: readonly PodChangeEvent[]): void {
  const latest = state.latest instanceof Map ? state.latest : byFullName(state.latest);
  state.latest = latest;
  const pending = state.pending ?? new Map<string, Pod | undefined>();
  state.pending = pending;
  for (const { pod, gone = false } of changes) {
    const fullName = podFullName(pod);
    if (gone) latest.delete(fullName);
    else latest.set(fullName, pod);
    if (pending !== 'all') pending.set(fullName, gone ? undefined : pod);
  }
}

function byFullName(pods: readonly Pod[]): Map<string, Pod> {
  const names = new Map<string, Pod>();
  for (const pod of pods) if (!names.has(podFullName(pod))) names.set(podFullName(pod), pod);
  return names;
}

interface Report {
  readonly pod: Pod;
  readonly why: string;
}

/** Formats a time as RFC 3339 in UTC with nine decimals, as upstream's `RFC3339NanoFixed`. */
function rfc3339Nano(ms: number): string {
  const nanos = Math.floor((ms - Math.floor(ms)) * 1e6);
  return `${new Date(Math.floor(ms)).toISOString().slice(0, -1)}${String(nanos).padStart(6, '0')}Z`;
}
