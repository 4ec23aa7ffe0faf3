import type { Pod } from '@node-agent/pod-spec';
import type { SetPods } from './pod-config.ts';

/** A copy of the API server's pods of this node that follows it: a `Reflector` of kube-client fits. */
export interface PodFeed {
  /** The pods, by namespace and name. */
  readonly objects: ReadonlyMap<string, Pod>;
  /** Resolves once all of them have been read. @throws the signal's reason */
  waitForSync(signal?: AbortSignal): Promise<void>;
  /** A value for each change, coalesced where this consumer is slow; ends with the feed. */
  changes(): AsyncIterable<unknown> & Disposable;
}

/** What an {@link ApiSource} works with. */
export interface ApiSourceComponents {
  readonly feed: PodFeed;
  readonly set: SetPods;
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

  /** Tells the pods, all that there are at each change, until `signal` is aborted. */
  async start(signal: AbortSignal): Promise<void> {
    const { feed, set, nodeSynced } = this.#components;
    using changes = feed.changes();
    const end = (): void => changes[Symbol.dispose]();
    signal.addEventListener('abort', end, { once: true });
    try {
      await feed.waitForSync(signal);
      await nodeSynced?.(signal);
      set([...feed.objects.values()]);
      for await (const _change of changes) {
        if (signal.aborted) return;
        set([...feed.objects.values()]);
      }
    } catch (err) {
      if (!signal.aborted) throw err;
    } finally {
      signal.removeEventListener('abort', end);
    }
  }
}
