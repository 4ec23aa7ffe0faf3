import type { Pod } from '@node-agent/pod-spec';
import type { PodChangeEvent, PodSourceInput } from './pod-config.ts';

/** A copy of the API server's pods of this node that follows it: a `Reflector` of kube-client fits. */
export interface PodFeed {
  /** The pods, by namespace and name. */
  readonly objects: ReadonlyMap<string, Pod>;
  /** Resolves once all of them have been read. @throws the signal's reason */
  waitForSync(signal?: AbortSignal): Promise<void>;
  /** A value for each change, coalesced if this consumer is slow; ends with the feed. `size` is how many of them wait. */
  changes(): AsyncIterable<PodFeedChange> & Disposable & { readonly size: number };
}

/** What became of a pod of a {@link PodFeed}; `synced` says nothing of any pod. */
export type PodFeedChange =
  | { readonly type: 'changed' | 'deleted'; readonly object: Pod }
  | { readonly type: 'synced' };

/** What an {@link ApiSource} works with. */
export interface ApiSourceComponents {
  readonly feed: PodFeed;
  readonly set: PodSourceInput;
  /** Waited for before the first pods are told: admission looks at the node's labels. Nothing where absent. */
  readonly nodeSynced?: (signal: AbortSignal) => Promise<void>;
}

/**
 * The pods that the API server has bound to this node. Before it has read all of them it says nothing: an API server that
 * is away is not one without pods (F1). Source: `pkg/kubelet/config/apiserver.go`.
 */
export class ApiSource {
  readonly #components: ApiSourceComponents;

  constructor(components: ApiSourceComponents) {
    this.#components = components;
  }

  /** Gives all pods once, and then those that have changed, until `signal` is aborted. */
  async start(signal: AbortSignal): Promise<void> {
    const { feed, set, nodeSynced } = this.#components;
    using changes = feed.changes();
    const end = (): void => changes[Symbol.dispose]();
    signal.addEventListener('abort', end, { once: true });
    try {
      await feed.waitForSync(signal);
      await nodeSynced?.(signal);
      set([...feed.objects.values()]);
      let batch: PodChangeEvent[] = [];
      for await (const change of changes) {
        if (signal.aborted) return;
        if (change.type !== 'synced') batch.push({ pod: change.object, gone: change.type === 'deleted' });
        // A list that was read again brings its changes together, and pods that came together are admitted oldest first.
        if (changes.size > 0 || batch.length === 0) continue;
        set.change(batch);
        batch = [];
      }
    } catch (err) {
      if (!signal.aborted) throw err;
    } finally {
      signal.removeEventListener('abort', end);
    }
  }
}
