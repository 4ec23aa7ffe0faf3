import type { Init } from '@node-agent/grpc';
import { CriError } from './errors.ts';
import type { ContainerFilter, PodSandboxFilter } from './generated/types.ts';

/**
 * Remembers which streaming list RPCs the runtime lacks, and which lists are too long for one message. The knowledge is
 * dropped at each reconnect, because the runtime may have been upgraded.
 */
export class ListStreams {
  readonly #missing = new Set<string>();
  /** Names of lists whose plain response exceeded the message limit. */
  readonly #long = new Set<string>();
  readonly #enabled: boolean;
  readonly #plainFirst: boolean;
  readonly #connections: () => number;
  #learnedOn = 0;

  /**
   * @param plainFirst whether plain RPCs are preferred: a list is streamed only after its plain response has exceeded
   * the message limit.
   * @param connections returns the number of connections made so far
   */
  constructor(enabled: boolean, plainFirst: boolean, connections: () => number) {
    this.#enabled = enabled;
    this.#plainFirst = plainFirst;
    this.#connections = connections;
  }

  /**
   * Returns all items of a list: from the streaming RPC if the runtime has it, and from the plain RPC if the runtime
   * answers `UNIMPLEMENTED`. The streamed items are returned only after the stream has ended without an error, so that
   * a partial list is never returned.
   * Source: KEP-5825, `k8s.io/cri-client/pkg/remote_runtime.go`.
   * @param expectFew whether the list is short, for example of one pod. The plain RPC is then cheaper for both sides;
   * the stream is read only if the plain response exceeds the message limit.
   */
  async list<Chunk, Item>(
    rpc: string,
    stream: () => AsyncIterable<Chunk>,
    itemsOf: (chunk: Chunk) => readonly Item[],
    plain: () => Promise<readonly Item[]>,
    expectFew = false,
  ): Promise<Item[]> {
    this.#forgetOldConnection();
    if (expectFew || (this.#plainFirst && !this.#long.has(rpc))) {
      try {
        return [...(await plain())];
      } catch (error) {
        if (CriError.from(error, rpc).code !== 'RESOURCE_EXHAUSTED') throw error;
        if (!expectFew) this.#long.add(rpc);
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
    this.#long.clear();
  }
}

/**
 * Returns whether a filter selects the sandboxes or containers of one pod: by their ID, by their sandbox, or by the
 * label of the pod's UID.
 */
export function isOfOnePod(filter: Init<PodSandboxFilter> | Init<ContainerFilter> | null | undefined): boolean {
  if (!filter) return false;
  const sandboxId = 'podSandboxId' in filter ? filter.podSandboxId : '';
  return Boolean(filter.id || sandboxId || filter.labelSelector?.['io.kubernetes.pod.uid']);
}
