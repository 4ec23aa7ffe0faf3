import { type Clock, checkComponents, checkOptions, type Random, StartOnce, TaskGroup } from '@node-agent/async';
import { type Resource, resources } from '@node-agent/kube-client';
import type { Pod } from '@node-agent/pod-spec';
import { type Logger, type WithDefaults, withDefaults } from '@node-agent/telemetry';
import { GetStore } from './get-store.ts';
import type {
  ChangeDetectionStrategy,
  ConfigMap,
  ConfigObject,
  ObjectClient,
  ObjectStore,
  Secret,
} from './object-store.ts';
import { configMapNames, secretNames } from './pod-references.ts';
import { RegisteredPods } from './registered-pods.ts';
import { TtlStore } from './ttl-store.ts';
import { maxIdleMsOf } from './watch-rules.ts';
import { WatchStore } from './watch-store.ts';

/** The components of {@link ObjectCache}. */
export interface ObjectCacheComponents {
  readonly client: ObjectClient;
  /** Default: the system clock. */
  readonly clock?: Clock;
  /** Default: the system's random source. */
  readonly random?: Random;
  /** Default: no logging. */
  readonly logger?: Logger;
  /**
   * Called with the UIDs of the pods that refer to an object that was changed, created or deleted, as soon as the API
   * server reports it. Only the strategy `Watch` reports changes. The first state of an object that a pod reads is not
   * a change.
   */
  readonly onChange?: (podUids: readonly string[]) => void;
}

export interface ObjectCacheOptions {
  /** Strategy by which changes are detected (`configMapAndSecretChangeDetectionStrategy`). Default: `Watch`. */
  readonly strategy?: ChangeDetectionStrategy;
  /**
   * Interval at which pods are synced, in milliseconds (`syncFrequency`). Watches that are idle for five times as long
   * are closed. Default: 60,000.
   */
  readonly syncFrequencyMs?: number;
  /**
   * For `Cache`: returns how long objects are fresh, in milliseconds, as {@link objectTtlMs} reads it from the node.
   * Default, also for `undefined`: 60,000.
   */
  readonly ttlMs?: () => number | undefined;
}

/**
 * Caches the secrets and config maps that the pods of this node refer to. Other objects are not read, because nodes are
 * not authorized to read them. A pod is registered before it is synced and unregistered after it has terminated.
 * Returned objects must not be modified. Source: `pkg/kubelet/secret`, `pkg/kubelet/configmap`,
 * `pkg/kubelet/util/manager`.
 */
export class ObjectCache {
  readonly #secrets: ObjectStore<Secret>;
  readonly #configMaps: ObjectStore<ConfigMap>;
  readonly #secretPods: RegisteredPods;
  readonly #configMapPods: RegisteredPods;
  readonly #startOnce = new StartOnce('ObjectCache');

  /** @throws OptionsError naming the component or option that is wrong */
  constructor(given: ObjectCacheComponents, options: ObjectCacheOptions = {}) {
    checkOptions('ObjectCache', options, {
      strategy: [undefined, 'Get', 'Cache', 'Watch'],
      syncFrequencyMs: 'positive?',
      ttlMs: 'function?',
    });
    checkComponents('ObjectCache', given, { client: ['get', 'watch', 'list'] });
    const components = withDefaults(given);
    this.#secrets = makeStore(components, options, resources.secrets);
    this.#configMaps = makeStore(components, options, resources.configMaps);
    this.#secretPods = new RegisteredPods(this.#secrets, secretNames);
    this.#configMapPods = new RegisteredPods(this.#configMaps, configMapNames);
  }

  /**
   * Adds references to the objects of a pod, without waiting for I/O. Must be called again when the pod changes;
   * repeated calls are cheap.
   */
  registerPod(pod: Pod): void {
    this.#secretPods.register(pod);
    this.#configMapPods.register(pod);
  }

  /** Drops the references of a pod. Objects without references are dropped. */
  unregisterPod(pod: Pod): void {
    this.#secretPods.unregister(pod);
    this.#configMapPods.unregister(pod);
  }

  /** @throws ObjectCacheError `NotRegistered`, `NotSynced`; KubeError `NotFound` and other errors of the server */
  getSecret(namespace: string, name: string, signal: AbortSignal): Promise<Secret> {
    return this.#secrets.get(namespace, name, signal);
  }

  /** @throws ObjectCacheError `NotRegistered`, `NotSynced`; KubeError `NotFound` and other errors of the server */
  getConfigMap(namespace: string, name: string, signal: AbortSignal): Promise<ConfigMap> {
    return this.#configMaps.get(namespace, name, signal);
  }

  /**
   * Lists all objects again, because the server may have lost its data: a watch from an older version may never report
   * that.
   */
  listAnew(): void {
    this.#secrets.listAnew();
    this.#configMaps.listAnew();
  }

  /** Keeps the objects of registered pods up to date until `signal` is aborted. */
  async start(signal: AbortSignal): Promise<void> {
    this.#startOnce.begin();
    const tasks = new TaskGroup(signal);
    tasks.add((linked) => this.#secrets.start(linked));
    tasks.add((linked) => this.#configMaps.start(linked));
    await tasks.ended();
  }
}

function makeStore<T extends ConfigObject>(
  components: WithDefaults<ObjectCacheComponents>,
  { strategy = 'Watch', syncFrequencyMs = 60_000, ttlMs }: ObjectCacheOptions,
  resource: Resource<T>,
): ObjectStore<T> {
  if (strategy === 'Get') return new GetStore(components, { resource });
  if (strategy === 'Cache') return new TtlStore(components, { resource, ...(ttlMs && { ttlMs }) });
  const { onChange } = components;
  return new WatchStore(components, {
    resource,
    maxIdleMs: maxIdleMsOf(syncFrequencyMs),
    ...(onChange && { onChange }),
  });
}
