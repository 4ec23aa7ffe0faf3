import { mayRun, type RuntimePod, type RuntimePodStatus } from '@node-agent/pod-spec';
import { UidsByName } from './uids-by-name.ts';

/** Cached runtime status of one pod. */
export interface PodCacheEntry {
  /** Last status that was read successfully. The status is empty if no read has ever succeeded. */
  readonly status: RuntimePodStatus;
  /** Error of the newest read. If present, `status` is from an earlier read. */
  readonly error?: Error;
  /** Monotonic time at which the newest read began. */
  readonly observedAtMs: number;
}

interface Waiter {
  readonly minTimeMs: number;
  readonly settle: (entry: PodCacheEntry) => void;
}

/**
 * Newest known runtime status of each pod (`pkg/kubelet/container/cache.go`). All entries are at least as new as the
 * last list of the runtime. Exception: until a pod that this list showed as changed is read again, its entry is as old
 * as its last read.
 *
 * Only `Pleg` calls `set`, `setError`, `delete`, `list`, `updateTime`, `settle` and `onWait`.
 */
export class PodCache {
  readonly #entries = new Map<string, PodCacheEntry>();
  readonly #entryNames = new UidsByName();
  readonly #waiters = new Map<string, Set<Waiter>>();
  /** Entries of the pods in the last list that have not been read since. `undefined` before the first list. */
  #listed: Map<string, RuntimePod> | undefined;
  /** UIDs of the pods in the last list by name, including pods that have been read since. */
  #listedNames = new UidsByName();
  #timeMs: number | undefined;
  #changed = new Set<string>();
  #wanted: ((uid: string) => void) | undefined;

  /** Returns the cached status of a pod, or `undefined` if the runtime was never seen to have the pod. */
  get(uid: string): PodCacheEntry | undefined {
    return this.#entries.get(uid);
  }

  /** Returns the UIDs of all pods that {@link get} returns, including pods that the kubelet does not want. */
  uids(): Iterable<string> {
    return this.#entries.keys();
  }

  /**
   * Returns whether the runtime has been queried for the pod. If so, and {@link get} returns `undefined`, then the
   * runtime does not have the pod.
   */
  hasSeen(uid: string): boolean {
    return this.#freshness(uid) > Number.NEGATIVE_INFINITY;
  }

  /**
   * Returns a status of the pod that is newer than `minTimeMs` (monotonic clock). The status is empty if the runtime
   * does not have the pod. If the cached status is not new enough, a read is requested and awaited.
   * @throws the error of that read, or the signal's reason
   */
  getNewerThan(uid: string, minTimeMs: number, signal?: AbortSignal): Promise<RuntimePodStatus> {
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      const known = this.#entries.get(uid);
      // A cached error does not answer a new request: the pod is read again.
      if (known?.error === undefined && this.#freshness(uid) > minTimeMs) {
        resolve(this.#statusOf(uid));
        return;
      }
      const onAbort = (): void => {
        this.#removeWaiter(uid, waiter);
        reject(signal?.reason);
      };
      const waiter: Waiter = {
        minTimeMs,
        settle: ({ error }) => {
          signal?.removeEventListener('abort', onAbort);
          if (error === undefined) resolve(this.#statusOf(uid));
          else reject(error);
        },
      };
      signal?.addEventListener('abort', onAbort, { once: true });
      const waiters = this.#waiters.get(uid) ?? new Set();
      this.#waiters.set(uid, waiters.add(waiter));
      this.#wanted?.(uid);
    });
  }

  /**
   * Returns the UIDs of all pods of this name and namespace with a running, or possibly running, container or sandbox,
   * including pods that the kubelet does not want. Returns `undefined` before the first list of the runtime's pods.
   */
  runningPods(name: string, namespace: string): readonly string[] | undefined {
    if (this.#listed === undefined) return undefined;
    const running = new Set<string>();
    const look = (uid: string, pod: RuntimePod | RuntimePodStatus | undefined): void => {
      if (pod?.name === name && pod.namespace === namespace && mayRun(pod)) running.add(uid);
    };
    const wanted = { name, namespace };
    for (const uid of this.#listedNames.uids(wanted)) look(uid, this.#listed.get(uid));
    for (const uid of this.#entryNames.uids(wanted)) look(uid, this.#entries.get(uid)?.status);
    return [...running];
  }

  /** Number of pending `getNewerThan` calls, for leak checks. */
  get waiting(): number {
    let count = 0;
    for (const waiters of this.#waiters.values()) count += waiters.size;
    return count;
  }

  /**
   * Returns the newest time that a pending `getNewerThan` call of this pod requests, or `undefined` if no call is
   * pending.
   */
  newestAsked(uid: string): number | undefined {
    const waiters = this.#waiters.get(uid);
    return waiters && Math.max(...[...waiters].map((waiter) => waiter.minTimeMs));
  }

  /**
   * Stores the result of a read that began at `observedAtMs`. A result that is older than the cached status is dropped.
   */
  set(uid: string, status: RuntimePodStatus, observedAtMs: number): void {
    this.#put(uid, { status, observedAtMs });
  }

  /** Records that a read that began at `observedAtMs` failed; the last status is kept. */
  setError(uid: string, error: Error, observedAtMs: number): void {
    this.#put(uid, { status: this.#entries.get(uid)?.status ?? emptyStatus(uid, observedAtMs), error, observedAtMs });
  }

  /** Records that a read that began at `observedAtMs` did not find the pod. */
  delete(uid: string, observedAtMs: number): void {
    if (!this.#put(uid, { status: emptyStatus(uid, observedAtMs), observedAtMs })) return;
    // No entry is stored for the pod: the state of a pod without an entry is known as of the last list.
    const entry = this.#entries.get(uid);
    if (entry !== undefined) this.#entryNames.delete(entry.status, uid);
    this.#entries.delete(uid);
  }

  /** Stores the pods of the latest list. */
  list(pods: readonly RuntimePod[]): void {
    this.#listed = new Map(pods.map((pod) => [pod.uid, pod]));
    this.#listedNames = new UidsByName();
    for (const pod of pods) this.#listedNames.add(pod, pod.uid);
  }

  /**
   * Records that a list that began at `timeMs` confirmed the cached status of all pods except `changed`, which must be
   * read again. If a caller still waits for one of the other pods, a read of that pod is requested again.
   */
  updateTime(timeMs: number, changed: ReadonlySet<string>): void {
    this.#timeMs = timeMs;
    this.#changed = new Set(changed);
    for (const uid of [...this.#waiters.keys()]) {
      if (this.#entries.get(uid)?.error === undefined) this.#notify(uid);
      if (this.#waiters.has(uid) && !changed.has(uid)) this.#wanted?.(uid);
    }
  }

  /** Records that no further read of the pod is pending, so that its cached status is current. */
  settle(uid: string): void {
    if (!this.#changed.delete(uid)) return;
    if (this.#entries.get(uid)?.error === undefined) this.#notify(uid);
  }

  /**
   * Sets the callback that requests reads. The callback is called whenever a caller starts to wait for a pod's status,
   * and immediately for each pod that already has waiting callers.
   */
  onWait(wanted: ((uid: string) => void) | undefined): void {
    this.#wanted = wanted;
    for (const uid of [...this.#waiters.keys()]) wanted?.(uid);
  }

  #put(uid: string, entry: PodCacheEntry): boolean {
    const known = this.#entries.get(uid);
    if (known !== undefined && known.observedAtMs > entry.observedAtMs) return false;
    if (known !== undefined) this.#entryNames.delete(known.status, uid);
    this.#entries.set(uid, entry);
    this.#entryNames.add(entry.status, uid);
    if (entry.error === undefined) this.#listed?.delete(uid);
    this.#notify(uid);
    return true;
  }

  /** Returns the time as of which a pod's state is known, or negative infinity if the state is unknown. */
  #freshness(uid: string): number {
    const readMs = this.#entries.get(uid)?.observedAtMs ?? Number.NEGATIVE_INFINITY;
    return this.#changed.has(uid) || this.#timeMs === undefined ? readMs : Math.max(readMs, this.#timeMs);
  }

  #statusOf(uid: string): RuntimePodStatus {
    const observedAtMs = this.#freshness(uid);
    const status = this.#entries.get(uid)?.status ?? emptyStatus(uid, observedAtMs);
    return status.observedAtMs >= observedAtMs ? status : { ...status, observedAtMs };
  }

  #notify(uid: string): void {
    const entry = this.#entries.get(uid) ?? { status: emptyStatus(uid, 0), observedAtMs: 0 };
    const freshness = this.#freshness(uid);
    for (const waiter of this.#waiters.get(uid) ?? []) {
      if (waiter.minTimeMs >= freshness) continue;
      this.#removeWaiter(uid, waiter);
      waiter.settle(entry);
    }
  }

  #removeWaiter(uid: string, waiter: Waiter): void {
    const waiters = this.#waiters.get(uid);
    waiters?.delete(waiter);
    if (waiters?.size === 0) this.#waiters.delete(uid);
  }
}

/** Returns the status of a pod that the runtime does not have. */
function emptyStatus(uid: string, observedAtMs: number): RuntimePodStatus {
  return { uid, name: '', namespace: '', ips: [], sandboxes: [], containers: [], observedAtMs };
}
