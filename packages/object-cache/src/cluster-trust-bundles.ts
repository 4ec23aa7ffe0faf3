import { type Clock, checkComponents, type Random, StartOnce, untilAborted, withTimeout } from '@node-agent/async';
import { Discovery, Reflector, type Resource, type RestClient, resources } from '@node-agent/kube-client';
import { errorText, type Logger, type WithDefaults, withDefaults } from '@node-agent/telemetry';
import { ObjectCacheError } from './errors.ts';
import { type LabelSelector, labelRule } from './label-selector.ts';
import { normalizeTrustAnchors } from './trust-anchors.ts';

/** The components of {@link ClusterTrustBundles}. */
export interface ClusterTrustBundlesComponents {
  readonly client: Pick<RestClient, 'list' | 'watch' | 'getPath'>;
  /** Default: the system clock. */
  readonly clock?: Clock;
  /** Default: the system's random source. */
  readonly random?: Random;
  /** Default: no logging. */
  readonly logger?: Logger;
}

type ClusterTrustBundle = NonNullable<(typeof resources.clusterTrustBundles)['object']>;

/**
 * API versions of the bundles, the preferred version first. An older server serves the older version, whose objects are
 * identical.
 */
const VERSIONS: readonly Resource<ClusterTrustBundle>[] = [
  resources.clusterTrustBundles,
  { ...resources.clusterTrustBundles, version: 'v1alpha1' },
];

/** Time that a reader waits for the first list, in milliseconds. After the first list, readers do not wait. */
const SYNC_TIMEOUT_MS = 10_000;

/**
 * The cluster's trust anchors for volumes (KEP-3257). The bundles are watched from the first read on, because most
 * nodes need no bundles. Source: `pkg/kubelet/clustertrustbundle/clustertrustbundle_manager.go`.
 */
export class ClusterTrustBundles {
  readonly #components: WithDefaults<ClusterTrustBundlesComponents>;
  readonly #salt: string;
  readonly #running = new Set<Promise<void>>();
  #life: AbortSignal | undefined;
  #reflector: Reflector<ClusterTrustBundle> | undefined;
  readonly #startOnce = new StartOnce('ClusterTrustBundles');

  constructor(given: ClusterTrustBundlesComponents) {
    checkComponents('ClusterTrustBundles', given, { client: ['watch', 'getPath', 'list'] });
    const components = withDefaults(given);
    this.#components = components;
    this.#salt = String(components.random.next());
  }

  /**
   * Returns the anchors of one bundle as PEM text; empty if the bundle does not exist and `allowMissing` is true.
   * @throws ObjectCacheError `TrustBundleMissing`, `TrustBundleUnavailable`
   */
  async byName(name: string, allowMissing: boolean, signal: AbortSignal): Promise<string> {
    const bundle = (await this.#bundles(signal)).get(name);
    if (bundle !== undefined) return normalizeTrustAnchors([bundle.spec.trustBundle], this.#salt);
    if (allowMissing) return '';
    throw missing(`clustertrustbundles ${JSON.stringify(name)} not found`);
  }

  /**
   * Returns the anchors of all bundles of a signer that match a selector, as PEM text; empty if there are none and
   * `allowMissing` is true.
   * @throws ObjectCacheError `TrustBundleMissing`, `TrustBundleUnavailable`, `InvalidSelector`
   */
  async bySigner(
    signerName: string,
    labelSelector: LabelSelector | undefined,
    allowMissing: boolean,
    signal: AbortSignal,
  ): Promise<string> {
    const isMeant = labelRule(labelSelector);
    const found: string[] = [];
    for (const { metadata, spec } of (await this.#bundles(signal)).values()) {
      if (spec.signerName === signerName && isMeant(metadata.labels ?? {})) found.push(spec.trustBundle);
    }
    if (found.length > 0) return normalizeTrustAnchors(found, this.#salt);
    if (allowMissing) return '';
    throw missing('combination of signerName and labelSelector matched zero ClusterTrustBundles');
  }

  /** Lists the bundles again, because the server may have lost its data. */
  listAnew(): void {
    this.#reflector?.listAnew();
  }

  /** Enables reads and the watch of the bundles until `signal` is aborted. */
  async start(signal: AbortSignal): Promise<void> {
    this.#startOnce.begin();
    this.#life = signal;
    await untilAborted(signal);
    while (this.#running.size > 0) await Promise.all(this.#running);
  }

  async #bundles(signal: AbortSignal): Promise<ReadonlyMap<string, ClusterTrustBundle>> {
    const life = this.#life;
    if (life === undefined || life.aborted) throw unavailable('ClusterTrustBundles are not watched');
    const reflector = this.#reflector ?? (await this.#follow(life, signal));
    if (reflector.hasSynced) return reflector.objects;
    try {
      await withTimeout(this.#components.clock, SYNC_TIMEOUT_MS, (linked) => reflector.waitForSync(linked), signal);
    } catch (cause) {
      signal.throwIfAborted();
      const why = errorText(reflector.lastError ?? cause);
      throw unavailable(`ClusterTrustBundles have not yet synced: ${why}`, cause);
    }
    return reflector.objects;
  }

  /**
   * Checks whether the server serves the bundles. A negative result is not cached, because the server may be upgraded.
   */
  async #follow(life: AbortSignal, signal: AbortSignal): Promise<Reflector<ClusterTrustBundle>> {
    const { client, logger } = this.#components;
    const resource = await new Discovery({ client }).choose(VERSIONS, signal).catch((cause: unknown) => {
      signal.throwIfAborted();
      throw unavailable(
        `cannot find out whether the API server serves ClusterTrustBundles: ${errorText(cause)}`,
        cause,
      );
    });
    if (resource === undefined) throw unavailable('the API server does not serve ClusterTrustBundles');
    // A concurrent reader may have started the reflector in this time.
    if (this.#reflector !== undefined) return this.#reflector;
    const reflector = new Reflector<ClusterTrustBundle>(this.#components, { resource });
    this.#reflector = reflector;
    const running = reflector
      .start(life)
      .catch((error: unknown) => logger.error({ err: error }, 'Watch of ClusterTrustBundles failed'))
      .finally(() => this.#running.delete(running));
    this.#running.add(running);
    return reflector;
  }
}

function missing(message: string): ObjectCacheError {
  return new ObjectCacheError('TrustBundleMissing', message);
}

function unavailable(message: string, cause?: unknown): ObjectCacheError {
  return new ObjectCacheError('TrustBundleUnavailable', message, cause === undefined ? undefined : { cause });
}
