import { Reflector, type ReflectorComponents, resources } from '@node-agent/kube-client';
import type { BackgroundService } from '@node-agent/kubelet-core';
import type { ServiceData } from '@node-agent/runtime';

type Service = NonNullable<(typeof resources.services)['object']>;

/**
 * Services of the cluster, watched for environment variables. Only the needed fields are kept, because there may be
 * thousands.
 */
export class ClusterServices implements BackgroundService {
  readonly name = 'services';
  readonly #reflector: Reflector<Service>;

  constructor(components: ReflectorComponents) {
    this.#reflector = new Reflector<Service>(components, { resource: resources.services, transform: trimmed });
  }

  /** Returns all services; `undefined` until they have been read once. */
  all(): Iterable<ServiceData> | undefined {
    return this.#reflector.hasSynced ? this.#reflector.objects.values() : undefined;
  }

  /** Retries immediately if a failed request waits for its retry. */
  retryNow(): void {
    this.#reflector.retryNow();
  }

  /** Lists the services again, because the known ones may come from another store. */
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
    // Keeps only the metadata that the reflector needs.
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
