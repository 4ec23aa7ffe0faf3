import { fieldSelector, type KubeClients, resources } from '@node-agent/kube-client';
import type { Pod } from '@node-agent/pod-spec';

/** One pod as a watch of its own tells of it, every change by itself: a reflector would give the newest alone. */
export class PodWatch {
  readonly #client: KubeClients['requests'];
  readonly #key: { readonly namespace: string; readonly name: string };
  #newest: Pod | undefined;
  #changes = 0;
  #firstMs = 0;
  #lastMs = 0;

  constructor(client: KubeClients['requests'], key: { readonly namespace: string; readonly name: string }) {
    this.#client = client;
    this.#key = key;
  }

  /** What the last event said; `undefined` before the first and once the pod is deleted. */
  get newest(): Pod | undefined {
    return this.#newest;
  }

  /** How many changes a second have come since {@link count}, from the first of them to the last. */
  get perSecond(): number {
    return ((this.#changes - 1) * 1000) / (this.#lastMs - this.#firstMs);
  }

  /** Counts from now on. */
  count(): void {
    this.#changes = 0;
  }

  /** Watches until the signal is aborted. @throws KubeError where the watch breaks */
  async run(signal: AbortSignal): Promise<void> {
    const { namespace, name } = this.#key;
    const selector = fieldSelector({ 'metadata.name': name });
    try {
      const events = await this.#client.watch(resources.pods, { namespace, fieldSelector: selector }, signal);
      for await (const event of events) {
        if (event.type === 'BOOKMARK') continue;
        this.#newest = event.type === 'DELETED' ? undefined : event.object;
        this.#lastMs = performance.now();
        if (this.#changes++ === 0) this.#firstMs = this.#lastMs;
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }
}
