import type { SyncFailure } from '@node-agent/contracts';
import type { RuntimePodSyncResult } from './sync-result.ts';

const MAX_ENTRIES = 1000;

/**
 * Keeps why each container's last start failed, for its waiting state (`pkg/kubelet/reason_cache.go`). At most 1,000
 * containers are kept, and a kubelet restart loses all.
 */
export class LastErrors {
  readonly #byContainer = new Map<string, SyncFailure>();

  /** Records the results of a sync for the containers that it tried to start. */
  update(podUid: string, { results }: Pick<RuntimePodSyncResult, 'results'>): void {
    for (const { action, target, error } of results) {
      if (action !== 'StartContainer') continue;
      const key = `${podUid}/${target}`;
      this.#byContainer.delete(key);
      if (error !== undefined) this.#byContainer.set(key, error);
    }
    for (const key of this.#byContainer.keys()) {
      if (this.#byContainer.size <= MAX_ENTRIES) break;
      this.#byContainer.delete(key);
    }
  }

  /** Returns why the container does not run; `undefined` if its last start succeeded or nothing is known. */
  get(podUid: string, container: string): SyncFailure | undefined {
    return this.#byContainer.get(`${podUid}/${container}`);
  }

  /** Drops the errors of a pod that no longer exists. */
  forget(podUid: string): void {
    for (const key of this.#byContainer.keys()) if (key.startsWith(`${podUid}/`)) this.#byContainer.delete(key);
  }
}
