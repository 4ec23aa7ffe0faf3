import { Reflector, type ReflectorComponents, resources } from '@node-agent/kube-client';
import type { BackgroundService } from '@node-agent/kubelet-core';
import type { ServiceData } from '@node-agent/runtime';

type Service = NonNullable<(typeof resources.services)['object']>;

/** The cluster's services, followed for the variables that point at them; little is kept of each, as there may be thousands. */
export class ClusterServices implements BackgroundService {
  readonly name = 'services';
  readonly #reflector: Reflector<Service>;

  constructor(components: ReflectorComponents) {
    this.#reflector = new Reflector<Service>(components, { resource: resources.services, transform: trimmed });
  }

  /** All of them; `undefined` until they have been read once. */
  all(): Iterable<ServiceData> | undefined {
    return this.#reflector.hasSynced ? this.#reflector.objects.values() : undefined;
  }

  /** Ends the wait after a failure. */
  retryNow(): void {
    this.#reflector.retryNow();
  }

  /** What is known may be of another store. */
  listAnew(): void {
    this.#reflector.listAnew();
  }

  start(signal: AbortSignal): Promise<void> {
    return this.#reflector.start(signal);
  }
}

function trimmed({ metadata, spec }: Service): Service {
  const { clusterIP, ports = [] } = spec ?? {};
  return {
    // What the reflector knows it by, and nothing else.
    metadata: { ...metadata, annotations: {}, labels: {}, managedFields: [] },
    spec: {
      ...(clusterIP !== undefined && { clusterIP }),
      ports: ports.map(({ name, port, protocol }) => ({
        port,
        ...(name !== undefined && { name }),
        ...(protocol !== undefined && { protocol }),
      })),
    },
  };
}
