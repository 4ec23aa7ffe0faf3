import {
  type Clock,
  checkComponents,
  checkOptions,
  every,
  linkAbort,
  type Random,
  Semaphore,
  StartOnce,
  TimeSlice,
  WorkQueue,
} from '@node-agent/async';
import { isStaticPod, type Pod } from '@node-agent/pod-spec';
import { type Histogram, type Logger, type Metrics, type WithDefaults, withDefaults } from '@node-agent/telemetry';
import { StatusApiError } from './api-error.ts';
import type { MergeContext } from './merge.ts';
import type { VersionedStatus } from './status-manager.ts';
import { needsReconcile } from './status-patch.ts';
import type { PodDeletionSafety, StatusApi, StatusPods, StatusSource } from './status-writer-ports.ts';
import {
  canBeDeleted,
  isFailureNews,
  isNewer,
  newerOf,
  retryDelayMs,
  type WriteTarget,
  writeTarget,
} from './write-rules.ts';
import { newWriteState, type WriteState } from './write-state.ts';
import { unlessGone, writeStatus } from './write-status.ts';

/** What a {@link StatusWriter} works with. */
export interface StatusWriterComponents {
  readonly statuses: StatusSource;
  readonly api: StatusApi;
  readonly pods: StatusPods;
  readonly safety: PodDeletionSafety;
  /**
   * A static pod has begun anew, and its mirror pod of this UID, which shows that it ended for good, may not show that: another one is wanted.
   * Where absent, it is tried again and again.
   */
  readonly replaceMirrorPod?: (pod: Pod, mirrorUid: string) => void;
  /** The machine's own where absent. */
  readonly clock?: Clock;
  /** The machine's own where absent. */
  readonly random?: Random;
  /** Silent where absent. */
  readonly logger?: Logger;
  /** Counted nowhere where absent. */
  readonly metrics?: Metrics;
}

export interface StatusWriterOptions {
  /** How often all statuses are compared with the API's, in milliseconds; 10,000 where absent. */
  readonly syncPeriodMs?: number;
  /** How many pods are written at the same time; 16 where absent. */
  readonly concurrency?: number;
  /** The pause after a first failure of a pod's write, in milliseconds, doubling with each; 200 where absent. */
  readonly initialBackOffMs?: number;
  /** The longest pause, in milliseconds; 5,000 where absent. */
  readonly maxBackOffMs?: number;
  /** How often this node is asked whether it has let go of a pod that is to end, in milliseconds; 250 where absent. */
  readonly recheckMs?: number;
}

/**
 * Writes the newest status of each pod to the API server: at once when it changes, and again when the API shows something
 * else (`syncBatch` and `syncPod` in `pkg/kubelet/status/status_manager.go`; upstream reads the pod before every write,
 * here that is done where what the watch and the last write showed may be wrong). One write of a pod at a time, none of them
 * waits for another pod's. A failed one is tried again for ever, with whatever is newest by then (S8). It also deletes the
 * objects of pods that have ended (S5).
 */
export class StatusWriter implements AsyncDisposable {
  readonly #components: WithDefaults<StatusWriterComponents>;
  readonly #options: Required<StatusWriterOptions>;
  readonly #queue: WorkQueue<string>;
  readonly #slots: Semaphore;
  readonly #states = new Map<string, WriteState>();
  readonly #inFlight = new Set<Promise<void>>();
  readonly #stop = new AbortController();
  readonly #duration: Histogram;
  #running: Promise<void> | undefined;
  readonly #startOnce = new StartOnce('StatusWriter');

  /** @throws OptionsError naming the component or option that is wrong */
  constructor(given: StatusWriterComponents, options: StatusWriterOptions = {}) {
    const asked = checkOptions('StatusWriter', options, {
      syncPeriodMs: 'positive?',
      concurrency: 'limit?',
      initialBackOffMs: 'notNegative?',
      maxBackOffMs: 'notNegative?',
      recheckMs: 'positive?',
    });
    checkComponents('StatusWriter', given, {
      statuses: ['getVersionedStatus', 'getStatuses'],
      api: ['getPod', 'patchPodStatus', 'deletePod'],
      pods: ['getPodByUid', 'getMirrorPodByPod'],
      safety: ['couldHaveRunningContainers', 'podResourcesAreReclaimed'],
    });
    const components = withDefaults(given);
    this.#components = components;
    this.#options = {
      syncPeriodMs: 10_000,
      concurrency: 16,
      initialBackOffMs: 200,
      maxBackOffMs: 5_000,
      recheckMs: 250,
      ...asked,
    };
    this.#queue = new WorkQueue(components);
    this.#slots = new Semaphore(this.#options.concurrency);
    this.#duration = components.metrics.histogram({
      name: 'kubelet_pod_status_sync_duration_seconds',
      help: 'How long it took from the first change of a pod status until the API server had it, in seconds.',
      buckets: [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 20, 30, 45, 60],
    });
  }

  /** How many pods it keeps a record of: a leak check for tests. */
  get size(): number {
    return this.#states.size;
  }

  /** A pod's status changed: the `onChange` of the status manager. Never blocks. */
  statusChanged({ pod }: Pick<VersionedStatus, 'pod'>): void {
    const state = this.#state(pod.metadata.uid);
    state.changedAtMs ??= this.#components.clock.monotonic();
    this.#look(pod.metadata.uid, state);
  }

  /**
   * Something else about a pod changed: the API shows another status, its mirror pod was made, its containers have stopped,
   * or its resources are gone. Without it that is noticed a little later. Takes the UID of the pod, not of its mirror.
   */
  hint(uid: string): void {
    const state = this.#states.get(uid);
    if (state !== undefined && this.#isDue(uid, state)) this.#look(uid, state);
  }

  /** Writes until `signal` is aborted. To be called once. */
  async start(signal: AbortSignal): Promise<void> {
    this.#startOnce.begin();
    this.#running = this.#run(signal);
    await this.#running;
  }

  /** Ends it, and waits for what is under way. What was not written is written by the next run of the kubelet. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    this.#queue.close();
    await this.#running;
  }

  async #run(signal: AbortSignal): Promise<void> {
    using link = linkAbort(signal, this.#stop.signal);
    const { clock } = this.#components;
    const parts = [
      this.#dispatch(link.signal),
      every(clock, this.#options.syncPeriodMs, (ending) => this.#repair(ending), link.signal, { immediate: false }),
    ];
    const results = await Promise.allSettled(
      parts.map((part) =>
        part.catch((error: unknown) => {
          link.abort(error);
          throw error;
        }),
      ),
    );
    await Promise.allSettled(this.#inFlight);
    for (const result of results) if (result.status === 'rejected') throw result.reason;
  }

  async #dispatch(signal: AbortSignal): Promise<void> {
    try {
      for (;;) {
        const uid = await this.#queue.take(signal);
        if (uid === undefined) return;
        const state = this.#state(uid);
        // From here on news does not queue the pod again: it must not be written twice at once.
        state.running = true;
        const slot = await this.#slots.acquire(signal);
        const write = this.#write(uid, state, signal).finally(() => {
          slot[Symbol.dispose]();
          this.#inFlight.delete(write);
        });
        this.#inFlight.add(write);
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  /** One try, and when the next one is. */
  async #write(uid: string, state: WriteState, signal: AbortSignal): Promise<void> {
    state.again = false;
    let nextInMs: number | undefined;
    const changedAtMs = state.changedAtMs;
    try {
      nextInMs = await this.#sync(uid, state, signal);
      state.failures = 0;
      if (state.again) nextInMs = 0;
    } catch (error) {
      if (signal.aborted) return;
      nextInMs = this.#afterFailure(uid, state, StatusApiError.from(error));
      state.changedAtMs = changedAtMs ?? state.changedAtMs;
    } finally {
      state.running = false;
    }
    if (nextInMs !== undefined) this.#queue.enqueue(uid, nextInMs);
  }

  /** @returns in how many milliseconds to look again; `undefined`: when something changes */
  async #sync(uid: string, state: WriteState, signal: AbortSignal): Promise<number | undefined> {
    const newest = this.#components.statuses.getVersionedStatus(uid);
    if (newest === undefined || state.deleted) return undefined;
    const target = this.#target(newest.pod);
    // A static pod whose mirror pod is not there yet: the repair pass or a hint comes back to it.
    if (target === undefined) return undefined;
    if (!this.#isDue(uid, state, newest, target)) return state.waitsFor && this.#options.recheckMs;

    // What follows a failure begins with a look at the API: what is known here may be wrong.
    const base = state.failures === 0 ? this.#newestKnown(newest.pod, target, state) : undefined;
    const { changedAtMs } = state;
    state.changedAtMs = undefined;
    state.waitsFor = undefined;
    const isWatched = (): boolean => this.#watched(newest.pod)?.metadata.uid === target.uid;
    let pod: Pod | undefined;
    try {
      const context = (): MergeContext => this.#mergeContext(uid);
      pod = await writeStatus(this.#components, { newest, target, base, context, isWatched }, signal);
    } catch (error) {
      const { replaceMirrorPod, logger } = this.#components;
      if (replaceMirrorPod === undefined || StatusApiError.from(error).code !== 'CannotRevive') throw error;
      logger.info(
        { err: error, podUid: uid, mirrorPodUid: target.uid },
        'The mirror pod of a static pod that has begun anew cannot show it: another one is wanted',
      );
      state.changedAtMs ??= changedAtMs;
      state.unfitUid = target.uid;
      replaceMirrorPod(newest.pod, target.uid);
      return undefined;
    }
    state.written = { version: newest.version, uid: target.uid };
    state.answer = pod;
    state.goneUid = pod === undefined ? target.uid : undefined;
    if (pod === undefined) return undefined;
    if (changedAtMs !== undefined) {
      this.#duration.observe({}, (this.#components.clock.monotonic() - changedAtMs) / 1000);
    }
    return await this.#afterWrite(uid, state, newest, pod, signal);
  }

  /** What is left to do once the status is written: wait for the containers (S2), delete the object (S5), or nothing. */
  async #afterWrite(
    uid: string,
    state: WriteState,
    { status, finished }: VersionedStatus,
    pod: Pod,
    signal: AbortSignal,
  ): Promise<number | undefined> {
    const { api, logger, safety } = this.#components;
    const { name, namespace } = pod.metadata;
    if (!canBeDeleted(pod, finished)) {
      const heldBack = status.phase !== pod.status?.phase && safety.couldHaveRunningContainers(uid);
      state.waitsFor = heldBack ? 'containers' : undefined;
      return heldBack ? this.#options.recheckMs : undefined;
    }
    // Also where the deletion fails: then the next try begins here.
    state.waitsFor = 'resources';
    if (!safety.podResourcesAreReclaimed(uid)) return this.#options.recheckMs;
    const deletion = { uid: pod.metadata.uid, gracePeriodSeconds: 0 } as const;
    await unlessGone(api.deletePod(namespace, name, deletion, signal), () => this.#watched(pod) !== undefined);
    state.deleted = true;
    logger.debug({ pod: `${namespace}/${name}`, podUid: uid }, 'Pod fully terminated and removed from etcd');
    return undefined;
  }

  #afterFailure(uid: string, state: WriteState, error: StatusApiError): number {
    const { logger, random, statuses } = this.#components;
    const { initialBackOffMs, maxBackOffMs } = this.#options;
    state.failures++;
    const metadata = statuses.getVersionedStatus(uid)?.pod.metadata;
    const fields = {
      err: error,
      podUid: uid,
      pod: `${metadata?.namespace}/${metadata?.name}`,
      failures: state.failures,
    };
    logger[isFailureNews(error.code, state.failures) ? 'error' : 'debug'](fields, 'Failed to update status for pod');
    // A conflict says that the API server is well: the pod is read again soon, however often that happens.
    const back = { initialMs: initialBackOffMs, maxMs: error.code === 'Conflict' ? initialBackOffMs : maxBackOffMs };
    return retryDelayMs(state.failures, back, random.next(), error.retryAfterMs);
  }

  /** Whether anything of the pod concerns the API server now. */
  #isDue(uid: string, state: WriteState, newest?: VersionedStatus, target?: WriteTarget): boolean {
    const { safety, statuses } = this.#components;
    const status = newest ?? statuses.getVersionedStatus(uid);
    const to = target ?? (status && this.#target(status.pod));
    if (status === undefined || to === undefined || state.deleted || state.unfitUid === to.uid) return false;
    if (state.goneUid === to.uid && this.#watched(status.pod)?.metadata.uid !== to.uid) return false;
    if (isNewer(status.version, to.uid, state.written)) return true;
    if (state.waitsFor === 'containers') return !safety.couldHaveRunningContainers(uid);
    if (state.waitsFor === 'resources') return safety.podResourcesAreReclaimed(uid);
    return this.#needsRepair(status, this.#newestKnown(status.pod, to, state), state);
  }

  /** Whether the API shows something else than it should, as far as is known here. */
  #needsRepair(
    { pod, status, version, finished }: VersionedStatus,
    newest: Pod | undefined,
    state: WriteState,
  ): boolean {
    const reading = newest ?? this.#watched(pod);
    if (reading === undefined) return false;
    if (canBeDeleted(reading, finished)) return true;
    const context = this.#mergeContext(pod.metadata.uid);
    const mayRun = context.couldHaveRunningContainers;
    const { agreed } = state;
    if (agreed?.reading === reading && agreed.version === version && agreed.mayRun === mayRun) return false;
    if (needsReconcile(reading, status, context)) return true;
    state.agreed = { reading, version, mayRun };
    return false;
  }

  /** The object that shows the pod, as the watch has it. */
  #watched(pod: Pod): Pod | undefined {
    const { pods } = this.#components;
    return isStaticPod(pod) ? pods.getMirrorPodByPod(pod) : pods.getPodByUid(pod.metadata.uid);
  }

  /** The newest reading of the object, which saves another; `undefined` where there is none to be trusted. */
  #newestKnown(pod: Pod, { uid }: WriteTarget, { answer }: WriteState): Pod | undefined {
    const [watched, answered] = [this.#watched(pod), answer].map((one) =>
      one?.metadata.uid === uid ? one : undefined,
    );
    return newerOf(watched, answered);
  }

  /** In portions: to compare the statuses of thousands of pods takes a while. */
  async #repair(signal: AbortSignal): Promise<void> {
    const { statuses } = this.#components;
    const slice = new TimeSlice(this.#components);
    for (const [uid, state] of this.#states) {
      if (state.running || statuses.getVersionedStatus(uid) !== undefined) continue;
      this.#queue.delete(uid);
      this.#states.delete(uid);
    }
    for (const { pod } of statuses.getStatuses()) {
      const { uid } = pod.metadata;
      const state = this.#state(uid);
      const watched = this.#watched(pod);
      if (!state.running && newerOf(watched, state.answer) === watched) state.answer = undefined;
      if (this.#isDue(uid, state)) this.#look(uid, state);
      if (slice.isDue()) await slice.pause(signal);
    }
  }

  /** Has the pod looked at, unless that is so anyway: now, or after the pause that a failure left. */
  #look(uid: string, state: WriteState): void {
    if (state.running) state.again = true;
    else if (state.failures === 0 || this.#queue.dueInMs(uid) === undefined) this.#queue.enqueue(uid, 0);
  }

  #target(pod: Pod): WriteTarget | undefined {
    return writeTarget(pod, isStaticPod(pod) ? this.#components.pods.getMirrorPodByPod(pod) : undefined);
  }

  #mergeContext(uid: string): MergeContext {
    const { clock, safety } = this.#components;
    return { couldHaveRunningContainers: safety.couldHaveRunningContainers(uid), nowMs: clock.now() };
  }

  #state(uid: string): WriteState {
    const known = this.#states.get(uid);
    if (known !== undefined) return known;
    const state = newWriteState();
    this.#states.set(uid, state);
    return state;
  }
}
