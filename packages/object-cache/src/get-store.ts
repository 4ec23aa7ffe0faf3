import type { Resource } from '@node-agent/kube-client';
import type { ConfigObject, ObjectClient, ObjectStore } from './object-store.ts';

/**
 * Reads objects from the API server on every access. Source: `pkg/kubelet/secret/secret_manager.go`,
 * simpleSecretManager.
 */
export class GetStore<T extends ConfigObject> implements ObjectStore<T> {
  readonly #client: Pick<ObjectClient, 'get'>;
  readonly #resource: Resource<T>;

  constructor(components: { readonly client: Pick<ObjectClient, 'get'> }, options: { readonly resource: Resource<T> }) {
    this.#client = components.client;
    this.#resource = options.resource;
  }

  /** Does nothing: this store keeps no objects. */
  addReference(): void {}

  deleteReference(): void {}

  get(namespace: string, name: string, signal: AbortSignal): Promise<T> {
    return this.#client.get(this.#resource, { namespace, name }, signal);
  }

  listAnew(): void {}

  /** Does nothing: this store has no background work. */
  async start(): Promise<void> {}
}
