import { mayRun, type RuntimePod, type RuntimePodStatus } from '@node-agent/pod-spec';

/** What the cache holds of a pod. */
export interface PodCacheEntry {
  /** The last status that could be read; empty where none could ever be. */
  readonly status: RuntimePodStatus;
  /** Why the newest reading failed; `status` is from before it then. */
  readonly error?: Error;
  /** When the reading began, by the monotonic clock. */
  readonly observedAtMs: number;
}

interface Waiter {
  readonly minTimeMs: number;
  readonly settle: (entry: PodCacheEntry) => void;
}

/**
 * The newest known runtime status of each pod (`pkg/kubelet/container/cache.go`). All that it holds is at least as new as the last list of
 * the runtime, but for the pods that this list showed to have changed: those are as old as their own last reading until the next one.
 *
 * Only `Pleg` calls `set`, `setError`, `delete`, `list`, `updateTime`, `settle` and `onWait`.
 */
export class PodCache {
  readonly #entries = new Map<string, PodCacheEntry>();
  readonly #waiters = new Map<string, Set<Waiter>>();
  /** The pods of the last list that were not read since; `undefined` before the first list. */
  #listed: Map<string, RuntimePod> | undefined;
  #timeMs: number | undefined;
  #changed: ReadonlySet<string> = new Set();
  #wanted: ((uid: string) => void) | undefined;

  /** What is known of a pod now; `undefined` where the runtime was not seen to have it. */
  get(uid: string): PodCacheEntry | undefined {
    return this.#entries.get(uid);
  }

  /** Whether the runtime has been asked about the pod, so that it is known to be unknown where {@link get} has nothing. */
  hasSeen(uid: string): boolean {
    return this.#freshness(uid) > Number.NEGATIVE_INFINITY;
  }

  /**
   * The pod's status as it was at some time after `minTimeMs` (monotonic clock), an empty one where the runtime does not have the pod. Where
   * nothing so new is known, a reading is asked for and waited for.
   * @throws the error of that reading; the signal's reason
   */
  getNewerThan(uid: string, minTimeMs: number, signal?: AbortSignal): Promise<RuntimePodStatus> {
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      const known = this.#entries.get(uid);
      // An old error says nothing about now.
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
   * The UIDs of the pods of this name of which anything runs, or may run, whoever wants them; `undefined` before the
   * runtime's pods were listed for the first time.
   */
  runningPods(name: string, namespace: string): readonly string[] | undefined {
    if (this.#listed === undefined) return undefined;
    const running = new Set<string>();
    const look = (pod: RuntimePod | RuntimePodStatus): void => {
      if (pod.name === name && pod.namespace === namespace && mayRun(pod)) running.add(pod.uid);
    };
    for (const pod of this.#listed.values()) look(pod);
    for (const { status } of this.#entries.values()) look(status);
    return [...running];
  }

  /** How many wait for a status: a leak check. */
  get waiting(): number {
    let count = 0;
    for (const waiters of this.#waiters.values()) count += waiters.size;
    return count;
  }

  /** The time that the most demanding of those who wait for a pod's status asks for; `undefined` where nobody waits. */
  newestAsked(uid: string): number | undefined {
    const waiters = this.#waiters.get(uid);
    return waiters && Math.max(...[...waiters].map((waiter) => waiter.minTimeMs));
  }

  /** A reading that began at `observedAtMs`. One that is older than what is known is dropped. */
  set(uid: string, status: RuntimePodStatus, observedAtMs: number): void {
    this.#put(uid, { status, observedAtMs });
  }

  /** A reading that began at `observedAtMs` failed; the last status stays. */
  setError(uid: string, error: Error, observedAtMs: number): void {
    this.#put(uid, { status: this.#entries.get(uid)?.status ?? emptyStatus(uid, observedAtMs), error, observedAtMs });
  }

  /** A look that began at `observedAtMs` did not show the pod. */
  delete(uid: string, observedAtMs: number): void {
    if (!this.#put(uid, { status: emptyStatus(uid, observedAtMs), observedAtMs })) return;
    // Not kept: an unknown pod is as new as the last list.
    this.#entries.delete(uid);
  }

  /** A list showed these pods. */
  list(pods: readonly RuntimePod[]): void {
    this.#listed = new Map(pods.map((pod) => [pod.uid, pod]));
  }

  /**
   * A list that began at `timeMs` showed all pods but the `changed` ones, which are to be read anew, to be as they are known. Where somebody
   * still waits for one of the others, the writer is told again.
   */
  updateTime(timeMs: number, changed: ReadonlySet<string>): void {
    this.#timeMs = timeMs;
    this.#changed = new Set(changed);
    for (const uid of [...this.#waiters.keys()]) {
      if (this.#entries.get(uid)?.error === undefined) this.#notify(uid);
      if (this.#waiters.has(uid) && !changed.has(uid)) this.#wanted?.(uid);
    }
  }

  /** The pod is as it is known: nothing is left to be read. */
  settle(uid: string): void {
    if (!this.#changed.has(uid)) return;
    this.#changed = new Set([...this.#changed].filter((changed) => changed !== uid));
    if (this.#entries.get(uid)?.error === undefined) this.#notify(uid);
  }

  /** Tells `wanted` of each pod whose status somebody begins to wait for, and of those that are waited for now. */
  onWait(wanted: ((uid: string) => void) | undefined): void {
    this.#wanted = wanted;
    for (const uid of [...this.#waiters.keys()]) wanted?.(uid);
  }

  #put(uid: string, entry: PodCacheEntry): boolean {
    const known = this.#entries.get(uid);
    if (known !== undefined && known.observedAtMs > entry.observedAtMs) return false;
    this.#entries.set(uid, entry);
    if (entry.error === undefined) this.#listed?.delete(uid);
    this.#notify(uid);
    return true;
  }

  /** The instant as of which the pod is known; before all times where it is not. */
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

/** What is known of a pod that the runtime does not have. */
function emptyStatus(uid: string, observedAtMs: number): RuntimePodStatus {
  return { uid, name: '', namespace: '', ips: [], sandboxes: [], containers: [], observedAtMs };
}
