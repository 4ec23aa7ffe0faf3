import { type KubeClients, KubeError, resources } from '@node-agent/kube-client';
import type { Pod } from '@node-agent/pod-spec';

/**
 * The runtime handlers that pods' RuntimeClasses name (KEP-585). A class is read when a sandbox is made for it: a handler
 * never changes, but a class can be made anew under its name. What was read stands in while the API server is away.
 */
export class RuntimeClasses {
  readonly #client: Pick<KubeClients['requests'], 'get'>;
  readonly #handlers = new Map<string, string>();

  constructor(client: Pick<KubeClients['requests'], 'get'>) {
    this.#client = client;
  }

  /** The handler of a pod's class; '' is the default one, of a pod without a class. @throws Error where there is no such class */
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

  /** The handler of a pod's class as it was read last; `undefined` where it has not been. */
  knownHandlerOf({ spec: { runtimeClassName: name } }: Pod): string | undefined {
    return name ? this.#handlers.get(name) : '';
  }
}

/** Where there is no API server to ask, a pod that wants a runtime of its own must not get another. @throws Error */
export async function handlerWithoutServer({ spec: { runtimeClassName: name } }: Pod): Promise<string> {
  if (!name) return '';
  throw new Error(`runtimeclass.node.k8s.io "${name}" cannot be looked up: there is no API server`);
}
