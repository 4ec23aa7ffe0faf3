import { type ReflectorOptions, resources, type WatchedObjects } from '@node-agent/kube-client';
import type { BackgroundService } from '@node-agent/kubelet-core';
import type { ServiceData } from '@node-agent/runtime';

/** The fields of a service that environment variables need. */
export type Service = NonNullable<(typeof resources.services)['object']>;

/**
 * Options of the watch on services. Only the needed fields are kept, because a cluster may have thousands of services.
 */
export const watchedServices: ReflectorOptions<Service> = { resource: resources.services, transform: trimmed };

/** Services of the cluster, watched for the environment variables of containers. */
export class ClusterServices implements BackgroundService {
  readonly name = 'services';
  readonly #watched: WatchedObjects<Service>;

  /** @param watched the watched services, with the options {@link watchedServices} */
  constructor(watched: WatchedObjects<Service>) {
    this.#watched = watched;
  }

  /** Returns all services, or `undefined` until the services have been read once. */
  all(): Iterable<ServiceData> | undefined {
    return this.#watched.hasSynced ? this.#watched.objects.values() : undefined;
  }

  /** Ends the wait before the retry of a failed request. */
  retryNow(): void {
    this.#watched.retryNow();
  }

  /** Lists all services again, because the known ones may come from a store that the API server has lost. */
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
    // The reflector needs only these metadata.
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
