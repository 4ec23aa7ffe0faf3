import {
  ifFound,
  type KubeClients,
  type ObjectChanges,
  type ReflectorOptions,
  resources,
  type WatchedObjects,
} from '@node-agent/kube-client';
import type { BackgroundService } from '@node-agent/kubelet-core';
import { podTokenQuery, type TokenManager } from '@node-agent/object-cache';
import type { CSIDriver } from '@node-agent/pod-spec/api';
import type { CsiObjects, CsiTokens } from '@node-agent/volumes';

/** Options of the watch on CSIDrivers. */
export const watchedCsiDrivers: ReflectorOptions<CSIDriver> = { resource: resources.csiDrivers };

/** The cluster's CSIDriver objects, watched. They define how the kubelet uses each driver. */
export class CsiDriverObjects implements BackgroundService {
  readonly name = 'csi drivers';
  readonly #watched: WatchedObjects<CSIDriver>;

  constructor(watched: WatchedObjects<CSIDriver>) {
    this.#watched = watched;
  }

  /**
   * Returns the CSIDriver object of a driver, or `undefined`. Waits until all CSIDrivers have been read once. @throws
   * the signal's reason
   */
  async get(name: string, signal: AbortSignal): Promise<CSIDriver | undefined> {
    await this.#watched.waitForSync(signal);
    return this.known(name);
  }

  /** Returns the newest known CSIDriver object of a driver, or `undefined`. */
  known(name: string): CSIDriver | undefined {
    return this.#watched.objects.get(name);
  }

  /** Returns the changes of CSIDriver objects from now on. */
  changes(): ObjectChanges<CSIDriver> {
    return this.#watched.changes();
  }

  /** Lists all CSIDrivers again, because the known ones may come from a store that the API server has lost. */
  listAnew(): void {
    this.#watched.listAnew();
  }

  start(signal: AbortSignal): Promise<void> {
    return this.#watched.start(signal);
  }
}

/**
 * Returns the API objects that CSI volumes need. VolumeAttachments and secrets of persistent volumes are read on
 * demand: the node authorizer allows a node to get these objects for volumes of its own pods, but not to list or watch
 * them.
 */
export function clusterCsi(
  client: Pick<KubeClients['requests'], 'get'>,
  csiDrivers: Pick<CsiDriverObjects, 'get' | 'known'>,
): CsiObjects {
  return {
    getCsiDriver: (name, signal) => csiDrivers.get(name, signal),
    knownCsiDriver: (name) => csiDrivers.known(name),
    getVolumeAttachment: (name, signal) => ifFound(client.get(resources.volumeAttachments, { name }, signal)),
    getSecret: (namespace, name, signal) => ifFound(client.get(resources.secrets, { namespace, name }, signal)),
  };
}

/**
 * Returns the source of service account tokens for CSI drivers. Tokens are bound to the pod and cached until they
 * expire.
 */
export function csiTokens(tokens: Pick<TokenManager, 'get'>): CsiTokens {
  return { requestToken: (pod, request, signal) => tokens.get(podTokenQuery(pod, request), signal) };
}
