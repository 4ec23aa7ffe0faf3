import { abortable, type Clock } from '@node-agent/async';
import { type Pod, type PodSource, podReference } from '@node-agent/pod-spec';
import { type EventRecorder, eventReasons, type Logger, type WithDefaults, withDefaults } from '@node-agent/telemetry';
import { diffPods, type PodDiff } from './diff-pods.ts';
import { PodConfigError } from './errors.ts';
import type { PodOperation, PodUpdate } from './pod-update.ts';

/** What {@link PodConfig} works with. */
export interface PodConfigComponents {
  /** The machine's own where absent. */
  readonly clock?: Pick<Clock, 'now'>;
  /** Silent where absent. */
  readonly logger?: Logger;
  /** Nobody is told where absent. */
  readonly recorder?: EventRecorder;
}

/**
 * How changes are told: as upstream's `PodConfigNotificationMode`. `incremental`: only what changed; `snapshot`: a `SET`
 * of everything whenever something changed; `snapshotAndUpdates`: a `SET` whenever pods come or go, else what changed.
 */
export type PodConfigMode = 'incremental' | 'snapshot' | 'snapshotAndUpdates';

export interface PodConfigOptions {
  /** `incremental` by default. */
  readonly mode?: PodConfigMode;
}

/** Gives a source's pods, all that it has, to the mux. @throws PodConfigError `InvalidPods` where that is no list of pods; nothing is changed then */
export type SetPods = (pods: readonly Pod[]) => void;

/**
 * Merges what the pod sources say into one stream of changes (`pkg/kubelet/config/config.go`).
 *
 * Sources are compared only when the consumer asks for more, with the newest list that each has given: a consumer
 * that is slow gets fewer, larger changes, and nothing piles up. A pod belongs to the source that brought its UID first,
 * until that source drops it (F2); another source's pod of the same UID is reported, and let in when the UID is free.
 */
export class PodConfig {
  /** The changes, in order, for one consumer. Ends after {@link close}. */
  readonly updates: AsyncIterable<PodUpdate>;
  readonly #components: WithDefaults<PodConfigComponents>;
  readonly #mode: PodConfigMode;
  readonly #sources = new Map<PodSource, SourceState>();
  /** Resolved whenever a source is seen for the first time, and when it is closed. */
  #nextSeen = Promise.withResolvers<void>();
  #closed = false;
  #wake: () => void = () => {};

  constructor(components: PodConfigComponents = {}, options: PodConfigOptions = {}) {
    this.#components = withDefaults(components);
    this.#mode = options.mode ?? 'incremental';
    const stream = this.#stream();
    this.updates = { [Symbol.asyncIterator]: () => stream };
  }

  /** Declares a source, and gives the function by which it speaks; the same one each time for one name. */
  addSource(name: PodSource): SetPods {
    const known = this.#sources.get(name);
    if (known !== undefined) return known.set;
    const state: SourceState = {
      pods: new Map(),
      refused: new Set(),
      latest: undefined,
      pending: false,
      seen: false,
      reported: new Set(),
      set: (pods) => {
        checkPods(name, pods);
        state.latest = pods;
        state.pending = true;
        this.#wake();
      },
    };
    this.#sources.set(name, state);
    return state.set;
  }

  /**
   * Whether the source has spoken and the consumer has come back for more after it was given the first changes: before
   * that, what runs but is not in the configuration may still turn out to be wanted (F1).
   */
  sourceReady(name: PodSource): boolean {
    return this.#sources.get(name)?.seen ?? false;
  }

  /** Whether {@link sourceReady} holds for each source that was added (F1). */
  seenAllSources(): boolean {
    return [...this.#sources.values()].every((source) => source.seen);
  }

  /** Resolves as soon as {@link seenAllSources} holds. @throws the signal's reason; PodConfigError `Closed` where it will not hold any more */
  async allSourcesSeen(signal?: AbortSignal): Promise<void> {
    while (!this.seenAllSources()) {
      if (this.#closed) throw new PodConfigError('Closed', 'closed before all sources of pods were seen');
      await abortable(this.#nextSeen.promise, signal);
    }
  }

  /** Ends {@link updates}, and the wait for sources that have not spoken; what was not asked for yet is dropped. */
  close(): void {
    this.#closed = true;
    this.#wake();
    this.#nextSeen.resolve();
  }

  async *#stream(): AsyncGenerator<PodUpdate, void, undefined> {
    while (!this.#closed) {
      const next = [...this.#sources].find(([, state]) => state.pending);
      if (next === undefined) {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
        continue;
      }
      const [name, state] = next;
      yield* this.#merge(name, state);
      if (!state.seen) {
        state.seen = true;
        const { resolve } = this.#nextSeen;
        this.#nextSeen = Promise.withResolvers();
        resolve();
      }
    }
  }

  #merge(name: PodSource, state: SourceState): readonly PodUpdate[] {
    state.pending = false;
    const latest = state.latest ?? [];
    const held = this.#held(name, latest);
    const marks = { source: name, seenAt: rfc3339Nano(this.#components.clock.now()) };
    const diff = diffPods(state.pods, held.size > 0 ? latest.filter((pod) => !held.has(pod)) : latest, marks);
    state.pods = diff.pods;
    state.refused = new Set([...held.keys()].map((pod) => pod.metadata.uid));
    for (const pod of diff.removed) this.#offerAgain(name, pod.metadata.uid);
    const reports = new Map<string, Report>();
    const add = (pod: Pod, why: string): unknown => reports.set(`${pod.metadata.uid} ${why}`, { pod, why });
    for (const [pod, source] of held) {
      add(pod, `duplicate pod uid ${JSON.stringify(pod.metadata.uid)} of source ${source}`);
    }
    for (const { pod, key } of diff.duplicates) add(pod, `duplicate pod ${key} ${JSON.stringify(pod.metadata[key])}`);
    for (const [key, report] of reports) if (!state.reported.has(key)) this.#report(name, report);
    state.reported = new Set(reports.keys());
    return this.#updates(name, diff, !state.seen);
  }

  /** The pods whose UID another source holds, with that source. */
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
      if (name !== freedBy && state.refused.has(uid)) state.pending = true;
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

  #updates(source: PodSource, diff: PodDiff, first: boolean): readonly PodUpdate[] {
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

/** Where it is given, so that it is found there: what is compared later may be of any source. */
function checkPods(name: PodSource, pods: unknown): void {
  if (!Array.isArray(pods)) throw invalidPods(name, `${String(pods)} is no list`);
  for (const [index, pod] of pods.entries()) {
    const { uid } = (pod as Partial<Pod> | null | undefined)?.metadata ?? {};
    if (typeof uid !== 'string') throw invalidPods(name, `[${index}] is no pod with a UID`);
  }
}

function invalidPods(name: PodSource, why: string): PodConfigError {
  return new PodConfigError('InvalidPods', `pods of source ${name}: ${why}`);
}

interface SourceState {
  /** What the consumer was told, by UID. */
  pods: ReadonlyMap<string, Pod>;
  /** The UIDs of its pods that another source holds. */
  refused: ReadonlySet<string>;
  /** The newest list that the source gave. */
  latest: readonly Pod[] | undefined;
  /** Whether `latest` is still to be compared. */
  pending: boolean;
  seen: boolean;
  /** What was reported of the list that was compared last: the same again is not news. */
  reported: ReadonlySet<string>;
  readonly set: SetPods;
}

interface Report {
  readonly pod: Pod;
  readonly why: string;
}

/** RFC 3339 in UTC with nine decimals, as upstream's `RFC3339NanoFixed`. */
function rfc3339Nano(ms: number): string {
  const nanos = Math.floor((ms - Math.floor(ms)) * 1e6);
  return `${new Date(Math.floor(ms)).toISOString().slice(0, -1)}${String(nanos).padStart(6, '0')}Z`;
}
