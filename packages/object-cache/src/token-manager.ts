import { type Clock, checkComponents, every, KeyedMutex, type Random, StartOnce, sleep } from '@node-agent/async';
import { KubeError, type RestClient, resources } from '@node-agent/kube-client';
import { errorText, type Logger, type WithDefaults, withDefaults } from '@node-agent/telemetry';
import { ObjectCacheError } from './errors.ts';
import {
  type Instant,
  isExpired,
  refreshDue,
  type TokenQuery,
  type TokenRequestSpec,
  type TokenTimes,
  tokenKey,
} from './token-rules.ts';

/** The components of {@link TokenManager}. */
export interface TokenManagerComponents {
  readonly client: Pick<RestClient, 'createSubresource'>;
  /** Default: the system clock. */
  readonly clock?: Clock;
  /** Default: the system's random source. */
  readonly random?: Random;
  /** Default: no logging. */
  readonly logger?: Logger;
}

/** A token of a service account. The token is a secret and must not be logged. */
export interface ServiceAccountToken {
  readonly token: string;
  /** Expiry by the wall clock, in milliseconds since the Unix epoch. */
  readonly expiresAtMs: number;
}

/** A TokenRequest in its JSON form. */
interface TokenRequest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly uid?: string };
  readonly spec: TokenRequestSpec;
  readonly status?: { readonly token?: string; readonly expirationTimestamp?: string };
}

interface Entry extends TokenTimes, ServiceAccountToken {
  readonly podUid: string | undefined;
}

const CLEANUP_PERIOD_MS = 60_000;
/**
 * The delays before a first token that was denied is requested again, in milliseconds. The server decides by its own
 * caches, which may learn of a pod later than its node does.
 */
const AGAIN_MS = [20, 50, 100, 200];

/**
 * Requests the pods' service account tokens by TokenRequests and replaces them before they expire. A token that cannot
 * be replaced yet is returned as long as it is valid (K3). Source: `pkg/kubelet/token/token_manager.go`.
 */
export class TokenManager {
  readonly #components: WithDefaults<TokenManagerComponents>;
  readonly #tokens = new Map<string, Entry>();
  /** Locks by token key: two volumes of a pod share one request for the same token. */
  readonly #mutex = new KeyedMutex<string>();
  readonly #startOnce = new StartOnce('TokenManager');

  constructor(components: TokenManagerComponents) {
    checkComponents('TokenManager', components, { client: ['createSubresource'] });
    this.#components = withDefaults(components);
  }

  /** The number of cached tokens. */
  get size(): number {
    return this.#tokens.size;
  }

  /**
   * Returns a valid token. @throws ObjectCacheError `TokenUnavailable`, whose cause is the `KubeError`; the signal's
   * reason
   */
  async get(query: TokenQuery, signal: AbortSignal): Promise<ServiceAccountToken> {
    const key = tokenKey(query);
    const { token, expiresAtMs } = await this.#mutex.run(key, () => this.#current(key, query, signal), signal);
    return { token, expiresAtMs };
  }

  /** Drops the tokens bound to a deleted pod, which are no longer valid. */
  deleteForPod(podUid: string): void {
    for (const [key, entry] of this.#tokens) if (entry.podUid === podUid) this.#tokens.delete(key);
  }

  /** Drops expired tokens every minute until `signal` is aborted. */
  async start(signal: AbortSignal): Promise<void> {
    this.#startOnce.begin();
    const forget = (): void => {
      for (const [key, entry] of this.#tokens) if (isExpired(entry, this.#now())) this.#tokens.delete(key);
    };
    await every(this.#components.clock, CLEANUP_PERIOD_MS, forget, signal);
  }

  async #current(key: string, query: TokenQuery, signal: AbortSignal): Promise<Entry> {
    const known = this.#tokens.get(key);
    if (known !== undefined && !refreshDue(known, this.#now(), this.#components.random.next())) return known;
    try {
      const entry = await (known === undefined ? this.#first(query, signal) : this.#request(query, signal));
      this.#tokens.set(key, entry);
      return entry;
    } catch (cause) {
      signal.throwIfAborted();
      const why = errorText(cause);
      if (known === undefined) {
        throw new ObjectCacheError('TokenUnavailable', `failed to fetch token: ${why}`, { cause });
      }
      if (isExpired(known, this.#now())) {
        const message = `token ${key} expired and refresh failed: ${why}`;
        throw new ObjectCacheError('TokenUnavailable', message, { cause });
      }
      this.#components.logger.error({ err: cause, cacheKey: key }, "Couldn't update token");
      return known;
    }
  }

  async #first(query: TokenQuery, signal: AbortSignal): Promise<Entry> {
    for (const delayMs of AGAIN_MS) {
      try {
        return await this.#request(query, signal);
      } catch (error) {
        if (!mayNotKnowThePod(error)) throw error;
      }
      await sleep(this.#components.clock, delayMs, signal);
    }
    return await this.#request(query, signal);
  }

  async #request(
    { namespace, serviceAccountName, serviceAccountUid, spec }: TokenQuery,
    signal: AbortSignal,
  ): Promise<Entry> {
    const request: TokenRequest = {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      metadata: serviceAccountUid === undefined ? {} : { uid: serviceAccountUid },
      spec,
    };
    const path = { namespace, name: serviceAccountName, subresource: 'token' };
    const askedAt = this.#now();
    const answer = await this.#components.client.createSubresource(
      resources.serviceAccounts,
      path,
      request,
      {},
      signal,
    );
    const { token, expirationTimestamp } = answer.status ?? {};
    const expiresAtMs = Date.parse(expirationTimestamp ?? '');
    if (token === undefined || token === '' || Number.isNaN(expiresAtMs)) {
      throw new Error('the response has no token or no expiration');
    }
    const { expirationSeconds } = answer.spec;
    return {
      token,
      expiresAtMs,
      lifetimeMs: expirationSeconds === undefined ? expiresAtMs - askedAt.wallMs : expirationSeconds * 1000,
      obtainedAtMs: askedAt.monotonicMs,
      podUid: spec.boundObjectRef?.uid,
    };
  }

  #now(): Instant {
    const { clock } = this.#components;
    return { wallMs: clock.now(), monotonicMs: clock.monotonic() };
  }
}

/** Returns whether the error may mean that the server's node admission or authorizer does not know the pod yet. */
function mayNotKnowThePod(error: unknown): boolean {
  const { code, details } = KubeError.from(error);
  return code === 'Forbidden' || (code === 'NotFound' && /^pods?$/.test(details?.kind ?? ''));
}
