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

/** What {@link ObjectCache} works with. */
export interface ObjectCacheComponents {
  readonly client: ObjectClient;
  /** The machine's own where absent. */
  readonly clock?: Clock;
  /** The machine's own where absent. */
  readonly random?: Random;
  /** Silent where absent. */
  readonly logger?: Logger;
  /**
   * Told of the pods that refer to an object that has changed, come or gone, as soon as the API server says so: with the
   * strategy `Watch` alone. What a pod finds when it first asks is no change.
   */
  readonly onChange?: (podUids: readonly string[]) => void;
}

export interface ObjectCacheOptions {
  /** How changes are found (`configMapAndSecretChangeDetectionStrategy`); `Watch` by default. */
  readonly strategy?: ChangeDetectionStrategy;
  /** How often pods are synced, in milliseconds (`syncFrequency`): watches idle for five times as long are closed; 60,000 by default. */
  readonly syncFrequencyMs?: number;
  /** With `Cache`: for how long objects are fresh, in milliseconds, as {@link objectTtlMs} reads it off the node; 60,000 where it gives `undefined`. */
  readonly ttlMs?: () => number | undefined;
}

/**
 * The secrets and config maps that the pods of this node refer to, and no others: a node may read no more, and need not.
 * A pod is registered before it is synced, and unregistered when it has ended. Objects are never to be changed in place.
 * Source: `pkg/kubelet/secret`, `pkg/kubelet/configmap`, `pkg/kubelet/util/manager`.
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

  /** Holds on to what a pod refers to; once more with a pod that has changed is right, and cheap. Waits for nothing. */
  registerPod(pod: Pod): void {
    this.#secretPods.register(pod);
    this.#configMapPods.register(pod);
  }

  /** Lets go of what only this pod refers to. */
  unregisterPod(pod: Pod): void {
    this.#secretPods.unregister(pod);
    this.#configMapPods.unregister(pod);
  }

  /** @throws ObjectCacheError `NotRegistered`, `NotSynced`; KubeError `NotFound` and what else the server says */
  getSecret(namespace: string, name: string, signal: AbortSignal): Promise<Secret> {
    return this.#secrets.get(namespace, name, signal);
  }

  /** @throws ObjectCacheError `NotRegistered`, `NotSynced`; KubeError `NotFound` and what else the server says */
  getConfigMap(namespace: string, name: string, signal: AbortSignal): Promise<ConfigMap> {
    return this.#configMaps.get(namespace, name, signal);
  }

  /** The server may have lost what it had: a watch from a version of before may never tell so by itself. */
  listAnew(): void {
    this.#secrets.listAnew();
    this.#configMaps.listAnew();
  }

  /** Follows what registered pods refer to until `signal` is aborted. */
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
