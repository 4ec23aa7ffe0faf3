import { type ReflectorOptions, resources, type WatchedObjects } from '@node-agent/kube-client';
import type { BackgroundService } from '@node-agent/kubelet-core';
import type { ServiceData } from '@node-agent/runtime';

/** The fields of a service that environment variables need. */
export type Service = NonNullable<(typeof resources.services)['object']>;

/** How services are watched. Only the needed fields are kept, because there may be thousands. */
export const watchedServices: ReflectorOptions<Service> = { resource: resources.services, transform: trimmed };

/** Services of the cluster, watched for environment variables. */
export class ClusterServices implements BackgroundService {
  readonly name = 'services';
  readonly #watched: WatchedObjects<Service>;

  /** @param watched the services as {@link watchedServices} has them */
  constructor(watched: WatchedObjects<Service>) {
    this.#watched = watched;
  }

  /** Returns all services; `undefined` until they have been read once. */
  all(): Iterable<ServiceData> | undefined {
    return this.#watched.hasSynced ? this.#watched.objects.values() : undefined;
  }

  /** Retries immediately if a failed request waits for its retry. */
  retryNow(): void {
    this.#watched.retryNow();
  }

  /** Lists the services again, because the known ones may come from another store. */
  listAnew(): void {
    this.#watched.listAnew();
  }

  start(signal: AbortSignal): Promise<void> {
    return this.#watched.start(signal);
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
