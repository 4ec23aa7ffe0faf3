import type { SyncFailure } from '@node-agent/contracts';
import type { RuntimePodSyncResult } from './sync-result.ts';

const MAX_ENTRIES = 1000;

/**
 * Why each container's last start failed, for its waiting state (`pkg/kubelet/reason_cache.go`). Best effort: it holds
 * 1,000 containers at most, and does not survive a restart of the kubelet.
 */
export class LastErrors {
  readonly #byContainer = new Map<string, SyncFailure>();

  /** Takes over what a sync said of the containers that it tried to start. */
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

  /** Why the container does not run; `undefined` where its last start went well, or nothing is known. */
  get(podUid: string, container: string): SyncFailure | undefined {
    return this.#byContainer.get(`${podUid}/${container}`);
  }

  /** Forgets a pod that is gone. */
  forget(podUid: string): void {
    for (const key of this.#byContainer.keys()) if (key.startsWith(`${podUid}/`)) this.#byContainer.delete(key);
  }
}
