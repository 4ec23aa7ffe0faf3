import { type KubeClients, KubeError, resources } from '@node-agent/kube-client';
import type { Pod } from '@node-agent/pod-spec';

/**
 * Runtime handlers of pods' RuntimeClasses (KEP-585). A RuntimeClass is read whenever a sandbox is created for a pod of
 * the class: the handler of a class is immutable, but a class can be recreated under the same name. The last known
 * handler is used while the API server is unavailable.
 */
export class RuntimeClasses {
  readonly #client: Pick<KubeClients['requests'], 'get'>;
  readonly #handlers = new Map<string, string>();

  constructor(client: Pick<KubeClients['requests'], 'get'>) {
    this.#client = client;
  }

  /**
   * Returns the runtime handler of a pod's RuntimeClass. For a pod without a class, the result is empty, which stands
   * for the default handler.
   * @throws Error if the class does not exist
   */
  async handlerOf({ spec: { runtimeClassName: name } }: Pod, signal: AbortSignal): Promise<string> {
    if (!name) return '';
    try {
      const { handler } = await this.#client.get(resources.runtimeClasses, { name }, signal);
      this.#handlers.set(name, handler);
      return handler;
    } catch (cause) {
      signal.throwIfAborted();
      if (KubeError.from(cause).code === 'NotFound') {
        this.#handlers.delete(name);
        throw new Error(`runtimeclass.node.k8s.io "${name}" not found`, { cause });
      }
      const known = this.#handlers.get(name);
      if (known !== undefined) return known;
      throw new Error(`failed to lookup RuntimeClass ${name}: ${KubeError.from(cause).message}`, { cause });
    }
  }

  /** Returns the last read handler of a pod's RuntimeClass, or `undefined` if the class was never read. */
  knownHandlerOf({ spec: { runtimeClassName: name } }: Pod): string | undefined {
    return name ? this.#handlers.get(name) : '';
  }
}

/**
 * Returns the default handler for a pod without a RuntimeClass. A pod with a RuntimeClass is rejected: without an API
 * server the class cannot be looked up, and the pod must not run with another handler.
 * @throws Error for a pod with a RuntimeClass
 */
export async function handlerWithoutServer({ spec: { runtimeClassName: name } }: Pod): Promise<string> {
  if (!name) return '';
  throw new Error(`runtimeclass.node.k8s.io "${name}" cannot be looked up: no API server`);
}
