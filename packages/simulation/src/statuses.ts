import type { VersionedStatus } from '@node-agent/status';
import type { SimulatedNode } from './node/simulated-node.ts';

/** Detects which published statuses have changed since the last call. */
export class Statuses {
  #life = 0;
  readonly #seen = new Map<string, VersionedStatus>();

  changed(node: Pick<SimulatedNode, 'lives' | 'kubelet'>): readonly VersionedStatus[] {
    if (node.lives !== this.#life) {
      this.#life = node.lives;
      this.#seen.clear();
    }
    const changed: VersionedStatus[] = [];
    for (const status of node.kubelet?.status.getStatuses() ?? []) {
      const { uid } = status.pod.metadata;
      if (this.#seen.get(uid) === status) continue;
      this.#seen.set(uid, status);
      changed.push(status);
    }
    return changed;
  }
}
