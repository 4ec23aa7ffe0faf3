import type { RuntimePodStatus } from '@node-agent/pod-spec';

/** What the cache holds of a pod. */
export interface PodCacheEntry {
  /** The last status that could be read; empty where none could ever be. */
  readonly status: RuntimePodStatus;
  /** Why the newest reading failed; `status` is from before it then. */
  readonly error?: Error;
  /** When the reading began, or a list confirmed it, by the monotonic clock. */
  readonly observedAtMs: number;
}

/** The newest known runtime status of each pod (`pkg/kubelet/container/cache.go`). Only `Pleg` writes to it. */
export class PodCache {
  readonly #entries = new Map<string, PodCacheEntry>();

  get(uid: string): PodCacheEntry | undefined {
    return this.#entries.get(uid);
  }

  /** Whether all of the runtime has been seen at least once. */
  hasSynced(): boolean {
    return false;
  }

  /** Waits for a status that was read after `minTimeMs`. */
  getNewerThan(_uid: string, _minTimeMs: number, _signal?: AbortSignal): Promise<RuntimePodStatus> {
    return Promise.reject(new Error('the pod cache is being built'));
  }
}
