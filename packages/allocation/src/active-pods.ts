import type { Pod } from '@node-agent/pod-spec';

/** The active pods during one pass over the pending resizes. */
export class ActivePods {
  readonly #pods: Pod[];
  readonly #indices: ReadonlyMap<string, number>;

  constructor(pods: readonly Pod[]) {
    this.#pods = [...pods];
    this.#indices = new Map(pods.map(({ metadata }, index) => [metadata.uid, index]));
  }

  /** Returns a new list of all pods except the one with this UID. */
  without(uid: string): readonly Pod[] {
    const index = this.#indices.get(uid);
    return index === undefined ? [...this.#pods] : this.#pods.toSpliced(index, 1);
  }

  /** Replaces the pod with the same UID; does nothing if the list has no such pod. */
  replace(pod: Pod): void {
    const index = this.#indices.get(pod.metadata.uid);
    if (index !== undefined) this.#pods[index] = pod;
  }
}
