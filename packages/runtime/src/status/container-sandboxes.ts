import type { RuntimeContainerStatus } from '@node-agent/pod-spec';
import { currentStatus } from '../actions/current-status.ts';

type Placed = Pick<RuntimeContainerStatus, 'id' | 'sandboxId'>;

/**
 * Sandboxes of the containers that this kubelet has seen, by pod. The sandbox IDs are kept when the runtime has removed
 * the record of a container. Without the sandbox ID, only times show whether an init container has completed in the
 * pod's current sandbox (C3), and the clock may have been set since. Of each container name, the last attempt that has
 * run is kept.
 */
export class ContainerSandboxes {
  readonly #byPod = new Map<string, Map<string, Placed>>();

  /** Number of pods with known containers, for leak checks. */
  get size(): number {
    return this.#byPod.size;
  }

  /** Records the sandbox of each container in a status of a pod. A pod without a sandbox is dropped. */
  seen(podUid: string, sandboxes: readonly unknown[], containers: readonly RuntimeContainerStatus[]): void {
    if (sandboxes.length === 0) this.forget(podUid);
    const started = containers.filter(({ state, sandboxId }) => state !== 'created' && sandboxId !== '');
    if (sandboxes.length === 0 || started.length === 0) return;
    const placed = this.#byPod.get(podUid) ?? new Map<string, Placed>();
    this.#byPod.set(podUid, placed);
    for (const { name } of started) {
      const last = currentStatus(started, name);
      if (last !== undefined) placed.set(name, { id: last.id, sandboxId: last.sandboxId });
    }
  }

  /** Returns the ID of the sandbox of a container; `undefined` if it is not known. */
  of(podUid: string, containerId: string): string | undefined {
    for (const { id, sandboxId } of this.#byPod.get(podUid)?.values() ?? []) if (id === containerId) return sandboxId;
    return undefined;
  }

  /** Returns the sandbox IDs of the known containers that are not among those with a record, by container ID. */
  without(podUid: string, recorded: readonly { readonly id: string }[]): ReadonlyMap<string, string> {
    const ids = new Set(recorded.map(({ id }) => id));
    const known = [...(this.#byPod.get(podUid)?.values() ?? [])];
    return new Map(known.filter(({ id }) => !ids.has(id)).map(({ id, sandboxId }) => [id, sandboxId]));
  }

  /** Drops the containers of a pod that no longer exists. */
  forget(podUid: string): void {
    this.#byPod.delete(podUid);
  }
}
