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
  isFailureLogged,
  isNewer,
  newerOf,
  retryDelayMs,
  type WriteTarget,
  writeTarget,
} from './write-rules.ts';
import { newWriteState, type WriteState } from './write-state.ts';
import { ignoreGone, writeStatus } from './write-status.ts';

/** Components of a {@link StatusWriter}. */
export interface StatusWriterComponents {
  readonly statuses: StatusSource;
  readonly api: StatusApi;
  readonly pods: StatusPods;
  readonly safety: PodDeletionSafety;
  /**
   * Called if a static pod was restarted but its mirror pod with this UID shows the pod as terminated for good. The API
   * server does not allow a terminated pod to run again, so the mirror pod must be recreated. If absent, the write is
   * retried forever.
   */
  readonly replaceMirrorPod?: (pod: Pod, mirrorUid: string) => void;
  /** Default: the system clock. */
  readonly clock?: Clock;
  /** Default: the system's random source. */
  readonly random?: Random;
  /** Default: no logging. */
  readonly logger?: Logger;
  /** Default: metrics are discarded. */
  readonly metrics?: Metrics;
}

export interface StatusWriterOptions {
  /** Interval at which all statuses are compared with the API, in milliseconds. Default: 10,000. */
  readonly syncPeriodMs?: number;
  /** Maximum number of pods written concurrently. Default: 16. */
  readonly concurrency?: number;
  /** Delay after the first failed write of a pod, in milliseconds; doubles with each further failure. Default: 200. */
  readonly initialBackOffMs?: number;
  /** Maximum delay after failed writes of a pod, in milliseconds. Default: 5,000. */
  readonly maxBackOffMs?: number;
  /**
   * Interval at which the writer checks whether this node has released a pod that is being deleted, in milliseconds.
   * Default: 250.
   */
  readonly recheckMs?: number;
}

/**
 * Writes the latest status of each pod to the API server: immediately after a change, and again if the API shows
 * another status (`syncBatch` and `syncPod` in `pkg/kubelet/status/status_manager.go`). Upstream reads the pod before
 * every write; here the pod is read only if the object from the watch or the last write may be outdated. Writes of one
 * pod are serialized; pods do not wait for each other. A failed write is retried forever, with the latest status at
 * that time (S8). The writer also deletes the API objects of terminated pods (S5).
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

  /** @throws OptionsError naming the invalid component or option */
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
      help: 'Seconds from the first change of a pod status until the API server had the status.',
      buckets: [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 20, 30, 45, 60],
    });
  }

  /** Number of pods that the writer keeps state for, for leak checks in tests. */
  get size(): number {
    return this.#states.size;
  }

  /** Queues a pod whose status changed; use as `onChange` of the status manager. Never blocks. */
  statusChanged({ pod }: Pick<VersionedStatus, 'pod'>): void {
    const state = this.#state(pod.metadata.uid);
    state.changedAtMs ??= this.#components.clock.monotonic();
    this.#enqueueIfIdle(pod.metadata.uid, state);
  }

  /**
   * Checks a pod after another change: the API shows another status, its mirror pod was created, its containers have
   * stopped, or its resources were released. Without a call of this method, the writer notices the change a little
   * later. Takes the UID of the pod, not of its mirror pod.
   */
  hint(uid: string): void {
    const state = this.#states.get(uid);
    if (state !== undefined && this.#isDue(uid, state)) this.#enqueueIfIdle(uid, state);
  }

  /** Writes statuses until `signal` is aborted. Must be called only once. */
  async start(signal: AbortSignal): Promise<void> {
    this.#startOnce.begin();
    this.#running = this.#run(signal);
    await this.#running;
  }

  /** Stops the writer and waits for the writes in progress. Unwritten statuses are written by the next kubelet run. */
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
        // From now on, changes do not queue the pod again: a pod must not be written twice at the same time.
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

  /** Attempts one write and schedules the next attempt. */
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

  /**
   * Writes the pod's status if needed.
   * @returns the delay until the next check in milliseconds; `undefined` if no check is needed before the next change
   * or hint
   */
  async #sync(uid: string, state: WriteState, signal: AbortSignal): Promise<number | undefined> {
    const newest = this.#components.statuses.getVersionedStatus(uid);
    if (newest === undefined || state.deleted) return undefined;
    const target = this.#target(newest.pod);
    // The mirror pod of a static pod does not exist yet. The repair pass or a call of {@link hint} triggers the write
    // later.
    if (target === undefined) return undefined;
    if (!this.#isDue(uid, state, newest, target)) return state.waitsFor && this.#options.recheckMs;

    // After a failure the pod is read from the API first, because the known version may be outdated.
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
        'Replacing the mirror pod, because it cannot show the status of its restarted static pod',
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

  /**
   * Decides the next action after a write: wait for the containers to stop (S2), delete the API object (S5), or
   * nothing.
   */
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
      const isDelayed = status.phase !== pod.status?.phase && safety.couldHaveRunningContainers(uid);
      state.waitsFor = isDelayed ? 'containers' : undefined;
      return isDelayed ? this.#options.recheckMs : undefined;
    }
    // `waitsFor` is set before the deletion, so that the attempt after a failed deletion continues here.
    state.waitsFor = 'resources';
    if (!safety.podResourcesAreReclaimed(uid)) return this.#options.recheckMs;
    const deletion = { uid: pod.metadata.uid, gracePeriodSeconds: 0 } as const;
    await ignoreGone(api.deletePod(namespace, name, deletion, signal), () => this.#watched(pod) !== undefined);
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
    logger[isFailureLogged(error.code, state.failures) ? 'error' : 'debug'](fields, 'Failed to update status for pod');
    // A conflict shows that the API server works, so the pod is read again soon, however often that happens.
    const back = { initialMs: initialBackOffMs, maxMs: error.code === 'Conflict' ? initialBackOffMs : maxBackOffMs };
    return retryDelayMs(state.failures, back, random.next(), error.retryAfterMs);
  }

  /** Returns whether the pod needs a request to the API server now. */
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

  /** Returns whether the API shows another status than it should, according to the watch and the last write. */
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

  /** Returns the API object that shows the pod's status, from the watch. */
  #watched(pod: Pod): Pod | undefined {
    const { pods } = this.#components;
    return isStaticPod(pod) ? pods.getMirrorPodByPod(pod) : pods.getPodByUid(pod.metadata.uid);
  }

  /**
   * Returns the newest known version of the API object, to save a read; `undefined` if no known version can be trusted.
   */
  #newestKnown(pod: Pod, { uid }: WriteTarget, { answer }: WriteState): Pod | undefined {
    const [watched, answered] = [this.#watched(pod), answer].map((one) =>
      one?.metadata.uid === uid ? one : undefined,
    );
    return newerOf(watched, answered);
  }

  /** Works in time slices, because comparing the statuses of thousands of pods takes a while. */
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
      if (this.#isDue(uid, state)) this.#enqueueIfIdle(uid, state);
      if (slice.isDue()) await slice.pause(signal);
    }
  }

  /** Queues the pod now or, after a failure, leaves it queued for its retry time. */
  #enqueueIfIdle(uid: string, state: WriteState): void {
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
