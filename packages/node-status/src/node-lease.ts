import {
  type Clock,
  checkComponents,
  checkOptions,
  every,
  type Random,
  StartOnce,
  sleep,
  withTimeout,
} from '@node-agent/async';
import { type Counter, type Logger, type Metrics, type WithDefaults, withDefaults } from '@node-agent/telemetry';
import { reasonOf } from './errors.ts';
import { type LeaseContent, newLease, renewedLease } from './lease.ts';
import type { Lease } from './node.ts';
import type { LeaseClient, NodeClient } from './ports.ts';

/**
 * The components of a {@link NodeLease}. The clients should not share connections or rate limits with slow requests
 * (N6).
 */
export interface NodeLeaseComponents {
  readonly leases: LeaseClient;
  readonly nodes: Pick<NodeClient, 'getNode'>;
  /** Default: the system clock. */
  readonly clock?: Clock;
  /** Default: the system's random source. */
  readonly random?: Random;
  /** Default: no logging. */
  readonly logger?: Logger;
  /** Default: no metrics. */
  readonly metrics?: Metrics;
  /** Called from the second consecutive failed renewal on, so that the caller can close connections that hang. */
  readonly onRepeatedHeartbeatFailure?: () => void;
  /** Called when the lease was created and after each renewal: the API server is reachable. */
  readonly onRenewed?: () => void;
  /**
   * Called when the API server reports that the node does not exist. In that case, no lease is created, and the node is
   * not set as the owner of an existing lease.
   */
  readonly onNodeMissing?: () => void;
}

export interface NodeLeaseOptions {
  readonly nodeName: string;
  /** The lease is renewed after a quarter of this duration. Default: 40 s. */
  readonly leaseDurationSeconds?: number;
  /** The timeout of a request, in milliseconds. Default: 10 s. */
  readonly requestTimeoutMs?: number;
}

const RENEW_FRACTION = 0.25;
const PERIOD_JITTER = 0.04;
const MAX_ATTEMPTS = 5;
const FIRST_DELAY_MS = 200;
const MAX_DELAY_MS = 7_000;
const NO_OWNER = 'Failed to get node when trying to set owner ref to the node lease';

/**
 * Reports that the node is alive by renewing its Lease, every 10 s by default, independent of slow or hanging
 * components (N6). Creates the lease if there is none, with the node as its owner.
 * (`component-helpers/apimachinery/lease/controller.go`, KEP-589)
 */
export class NodeLease {
  readonly #components: WithDefaults<NodeLeaseComponents>;
  readonly #options: Required<NodeLeaseOptions>;
  readonly #failures: Counter;
  #latest: Lease | undefined;
  #ownerUid: string | undefined;
  #lookingForOwner = false;
  #renewedAtMs: number | undefined;
  #ended: Promise<void> = Promise.resolve();
  readonly #startOnce = new StartOnce('NodeLease');

  /** @throws OptionsError that names the invalid component or option */
  constructor(given: NodeLeaseComponents, options: NodeLeaseOptions) {
    const asked = checkOptions('NodeLease', options, {
      nodeName: 'string',
      leaseDurationSeconds: 'positive?',
      requestTimeoutMs: 'positive?',
    });
    checkComponents('NodeLease', given, { leases: ['getLease', 'createLease', 'updateLease'], nodes: ['getNode'] });
    const components = withDefaults(given);
    const { metrics } = components;
    this.#components = components;
    this.#options = { leaseDurationSeconds: 40, requestTimeoutMs: 10_000, ...asked };
    const name = 'node_agent_node_lease_renewal_failures_total';
    this.#failures = metrics.counter({
      name,
      help: 'Number of requests to create or renew the node lease that failed.',
    });
  }

  /**
   * The time when the lease was last created or renewed, by the monotonic clock. The time is `undefined` before the
   * lease was created or renewed.
   */
  get renewedAtMs(): number | undefined {
    return this.#renewedAtMs;
  }

  /** Runs until `signal` is aborted. Keep it running during a node shutdown, because the node is still alive. */
  async start(signal: AbortSignal): Promise<void> {
    this.#startOnce.begin();
    const { clock, random, logger } = this.#components;
    const periodMs = this.#options.leaseDurationSeconds * 1000 * RENEW_FRACTION;
    const round = async (): Promise<void> => {
      try {
        await this.#sync(signal);
      } catch (error) {
        signal.throwIfAborted();
        logger.error({ err: error, retryInMs: periodMs }, 'Failed to renew the node lease');
      }
    };
    this.#ended = every(clock, periodMs, round, signal, { jitter: { random, maxFactor: PERIOD_JITTER } });
    await this.#ended;
  }

  /** Waits until the current round has ended, after the signal of {@link start} was aborted. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#ended;
  }

  async #sync(signal: AbortSignal): Promise<void> {
    const { logger } = this.#components;
    if (this.#latest !== undefined) {
      try {
        // Usually only this kubelet writes the lease, so the last written version is used without reading it again.
        await this.#renew(this.#latest, signal);
        return;
      } catch (error) {
        signal.throwIfAborted();
        logger.info({ err: error }, 'Failed to renew the latest lease; reading the current one');
      }
    }
    const { lease, created } = await this.#ensure(signal);
    this.#latest = lease;
    if (!created) await this.#renew(lease, signal);
  }

  /** Renews the lease, with up to five attempts without delay (retryUpdateLease). @throws the last error */
  async #renew(base: Lease, signal: AbortSignal): Promise<void> {
    const { leases, clock, logger, onRepeatedHeartbeatFailure } = this.#components;
    let lease = base;
    let last: unknown;
    const own = new Set([base.spec?.renewTime]);
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      try {
        const renewed = renewedLease(lease, this.#renewal(lease, signal), clock.now());
        own.add(renewed.spec?.renewTime);
        this.#latest = await this.#call((limit) => leases.updateLease(renewed, limit), signal);
        this.#succeeded();
        return;
      } catch (error) {
        signal.throwIfAborted();
        last = error;
        this.#failures.inc({});
        logger.error({ err: error, attempt }, 'Failed to update lease');
        if (reasonOf(error) === 'Conflict') {
          lease = (await this.#ensure(signal)).lease;
          this.#latest = lease;
          // The lease may have been renewed by this kubelet in a request whose response was lost.
          const { renewTime } = lease.spec ?? {};
          if (!own.has(renewTime)) logger.warn({ renewTime }, 'Another kubelet renews the lease of this node');
          continue;
        }
        if (reasonOf(error) === 'NotFound') break;
      }
      if (attempt > 0) onRepeatedHeartbeatFailure?.();
    }
    throw last;
  }

  #succeeded(): void {
    const { clock, onRenewed } = this.#components;
    this.#renewedAtMs = clock.monotonic();
    onRenewed?.();
  }

  /**
   * Reads the lease, or creates it if it does not exist. Retries after 200 ms, doubling up to 7 s (backoffEnsureLease).
   */
  async #ensure(signal: AbortSignal): Promise<{ readonly lease: Lease; readonly created: boolean }> {
    for (let delayMs = FIRST_DELAY_MS; ; delayMs = Math.min(delayMs * 2, MAX_DELAY_MS)) {
      try {
        return await this.#getOrCreate(signal);
      } catch (error) {
        signal.throwIfAborted();
        this.#tellWhyMissing(error, delayMs);
      }
      await sleep(this.#components.clock, delayMs, signal);
    }
  }

  async #getOrCreate(signal: AbortSignal): Promise<{ readonly lease: Lease; readonly created: boolean }> {
    const { leases, clock } = this.#components;
    const { nodeName } = this.#options;
    try {
      return { lease: await this.#call((limit) => leases.getLease(nodeName, limit), signal), created: false };
    } catch (error) {
      if (reasonOf(error) !== 'NotFound') throw error;
    }
    const content = this.#content(await this.#ownerOfNewLease(signal));
    const lease = await this.#call((limit) => leases.createLease(newLease(content, clock.now()), limit), signal);
    this.#succeeded();
    return { lease, created: true };
  }

  /**
   * Logs why the lease could not be read or created. A missing node is not a failure: at the first start, the node is
   * not registered yet.
   */
  #tellWhyMissing(error: unknown, retryInMs: number): void {
    const { logger } = this.#components;
    if (reasonOf(error) === 'NotFound') {
      logger.info(
        { node: this.#options.nodeName, retryInMs },
        'Waiting for the node to be registered before creating its lease',
      );
      return;
    }
    this.#failures.inc({});
    logger.error({ err: error, retryInMs }, 'Failed to ensure lease exists, will retry');
  }

  /**
   * Returns the node's UID for a new lease. If the UID is unavailable now, the lease is created without an owner,
   * because a node without a lease would count as dead; a later renewal adds the owner. If the node does not exist, no
   * lease is created, because nothing would ever remove it.
   */
  async #ownerOfNewLease(signal: AbortSignal): Promise<string | undefined> {
    // The known UID may belong to a node that was deleted together with the lease.
    this.#ownerUid = undefined;
    try {
      return await this.#nodeUid(signal);
    } catch (error) {
      signal.throwIfAborted();
      if (reasonOf(error) === 'NotFound') {
        this.#components.onNodeMissing?.();
        throw error;
      }
      this.#components.logger.warn({ err: error }, NO_OWNER);
      return undefined;
    }
  }

  /**
   * Returns the content of a renewal without waiting for requests. If the lease has no owner, the node's UID is read in
   * the background, for a later renewal.
   */
  #renewal(lease: Lease, signal: AbortSignal): LeaseContent {
    const owned = (lease.metadata.ownerReferences ?? []).length > 0;
    if (!owned && this.#ownerUid === undefined && !this.#lookingForOwner) {
      this.#lookingForOwner = true;
      this.#nodeUid(signal)
        .catch((error: unknown) => {
          if (signal.aborted) return;
          this.#components.logger.warn({ err: error }, NO_OWNER);
          if (reasonOf(error) === 'NotFound') this.#components.onNodeMissing?.();
        })
        .finally(() => {
          this.#lookingForOwner = false;
        });
    }
    return this.#content(this.#ownerUid);
  }

  async #nodeUid(signal: AbortSignal): Promise<string | undefined> {
    const { nodes } = this.#components;
    const node = await this.#call((limit) => nodes.getNode(this.#options.nodeName, { fresh: true }, limit), signal);
    this.#ownerUid = node.metadata.uid;
    return this.#ownerUid;
  }

  #content(nodeUid: string | undefined): LeaseContent {
    const { nodeName, leaseDurationSeconds } = this.#options;
    return { nodeName, durationSeconds: leaseDurationSeconds, nodeUid };
  }

  #call<T>(request: (signal: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<T> {
    return withTimeout(this.#components.clock, this.#options.requestTimeoutMs, request, signal);
  }
}
