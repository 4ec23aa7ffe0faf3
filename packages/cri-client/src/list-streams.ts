import type { Init } from '@node-agent/grpc';
import { CriError } from './errors.ts';
import type { ContainerFilter, PodSandboxFilter } from './generated/types.ts';

/**
 * Remembers which streaming lists a runtime does not have. What was learned holds for one connection: after a
 * reconnect the runtime may be a newer one.
 */
export class ListStreams {
  readonly #missing = new Set<string>();
  readonly #enabled: boolean;
  readonly #connections: () => number;
  #learnedOn = 0;

  /** @param connections the number of the present connection */
  constructor(enabled: boolean, connections: () => number) {
    this.#enabled = enabled;
    this.#connections = connections;
  }

  /**
   * All items of a list: from the stream where the runtime has it, and from the plain RPC where it answers
   * `UNIMPLEMENTED`. The stream's items are given only when it has ended well, so that a list is never a part of one.
   * Source: KEP-5825, `k8s.io/cri-client/pkg/remote_runtime.go`.
   * @param expectFew the list is of one pod or so: the plain RPC costs both sides less, and only where its answer is larger
   * than a message is the stream read
   */
  async list<Chunk, Item>(
    rpc: string,
    stream: () => AsyncIterable<Chunk>,
    itemsOf: (chunk: Chunk) => readonly Item[],
    plain: () => Promise<readonly Item[]>,
    expectFew = false,
  ): Promise<Item[]> {
    if (expectFew) {
      try {
        return [...(await plain())];
      } catch (error) {
        if (CriError.from(error, rpc).code !== 'RESOURCE_EXHAUSTED') throw error;
      }
    }
    if (this.#has(rpc)) {
      const items: Item[] = [];
      try {
        for await (const chunk of stream()) for (const item of itemsOf(chunk)) items.push(item);
        return items;
      } catch (error) {
        if (CriError.from(error, rpc).code !== 'UNIMPLEMENTED') throw error;
        this.#forgetOldConnection();
        this.#missing.add(rpc);
      }
    }
    return [...(await plain())];
  }

  #has(rpc: string): boolean {
    this.#forgetOldConnection();
    return this.#enabled && !this.#missing.has(rpc);
  }

  #forgetOldConnection(): void {
    const connection = this.#connections();
    if (connection === this.#learnedOn) return;
    this.#learnedOn = connection;
    this.#missing.clear();
  }
}

/** Whether a filter leaves the sandboxes or containers of one pod: by their id, their sandbox, or the label of the pod's UID. */
export function isOfOnePod(filter: Init<PodSandboxFilter> | Init<ContainerFilter> | null | undefined): boolean {
  if (!filter) return false;
  const sandboxId = 'podSandboxId' in filter ? filter.podSandboxId : '';
  return Boolean(filter.id || sandboxId || filter.labelSelector?.['io.kubernetes.pod.uid']);
}
