import { fieldSelector, type KubeClients, resources } from '@node-agent/kube-client';
import type { Pod } from '@node-agent/pod-spec';

/** Watches one pod and sees every change. A reflector would only deliver the newest object. */
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

  /** Pod of the last event; `undefined` before the first event and after the deletion. */
  get newest(): Pod | undefined {
    return this.#newest;
  }

  /** Changes per second since {@link count}, over the time between the first and the last change. */
  get perSecond(): number {
    return ((this.#changes - 1) * 1000) / (this.#lastMs - this.#firstMs);
  }

  /** Resets the count of changes. */
  count(): void {
    this.#changes = 0;
  }

  /** Watches until the signal is aborted. @throws KubeError if the watch fails */
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
