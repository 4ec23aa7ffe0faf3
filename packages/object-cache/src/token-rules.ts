import type { Pod } from '@node-agent/pod-spec';

/** The spec of a token request (`authentication.k8s.io/v1` TokenRequestSpec). */
export interface TokenRequestSpec {
  /** The intended audiences. Default: the API server. */
  readonly audiences?: readonly string[];
  readonly expirationSeconds?: number;
  /** The object whose deletion invalidates the token. */
  readonly boundObjectRef?: {
    readonly apiVersion: string;
    readonly kind: string;
    readonly name: string;
    readonly uid: string;
  };
}

/** A request for a token of a service account. */
export interface TokenQuery {
  readonly namespace: string;
  readonly serviceAccountName: string;
  /** The required UID of the account. Default: any account with that name. */
  readonly serviceAccountUid?: string;
  readonly spec: TokenRequestSpec;
}

const DEFAULT_EXPIRATION_SECONDS = 3600;

/**
 * Returns the parameters of the TokenRequest for a projected volume. The token is bound to the pod
 * (`pkg/volume/projected/projected.go`).
 */
export function podTokenQuery(
  pod: Pick<Pod, 'metadata' | 'spec'>,
  source: { readonly audience?: string; readonly expirationSeconds?: number },
): TokenQuery {
  const { namespace, name, uid } = pod.metadata;
  const { audience = '', expirationSeconds = DEFAULT_EXPIRATION_SECONDS } = source;
  return {
    namespace,
    serviceAccountName: pod.spec.serviceAccountName ?? '',
    spec: {
      audiences: audience === '' ? [] : [audience],
      expirationSeconds,
      boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name, uid },
    },
  };
}

/** Returns a key that identifies a token. The key contains no secret. */
export function tokenKey({ namespace, serviceAccountName, serviceAccountUid, spec }: TokenQuery): string {
  const { audiences = [], expirationSeconds = 0, boundObjectRef: ref } = spec;
  const bound = ref === undefined ? [] : [ref.apiVersion, ref.kind, ref.name, ref.uid];
  return JSON.stringify([serviceAccountName, namespace, audiences, expirationSeconds, bound, serviceAccountUid ?? '']);
}

/** The times at which a token was obtained and expires. */
export interface TokenTimes {
  /** Expiry by the wall clock, as the API server reports it. */
  readonly expiresAtMs: number;
  /** The lifetime for which the token was issued, in milliseconds. */
  readonly lifetimeMs: number;
  /** Time at which the token was obtained, by the monotonic clock. */
  readonly obtainedAtMs: number;
}

/** The current time on both clocks. */
export interface Instant {
  readonly wallMs: number;
  readonly monotonicMs: number;
}

const MAX_AGE_MS = 24 * 60 * 60_000;
/** The maximum by which a refresh is early, in seconds, so that many pods do not refresh at the same time. */
const MAX_JITTER_SECONDS = 10;

/**
 * Returns whether a token should be replaced: after 80% of its lifetime or after a day, minus a jitter of whole
 * seconds. The age is checked on both clocks, so that a token does not expire if the wall clock was set back.
 * @param fraction the fraction of the jitter, from 0 to less than 1
 */
export function refreshDue(token: TokenTimes, now: Instant, fraction: number): boolean {
  const jitterMs = Math.trunc(fraction * MAX_JITTER_SECONDS) * 1000;
  const marginMs = Math.trunc((token.lifetimeMs / 1000) * 0.2) * 1000;
  const usableMs = Math.min(MAX_AGE_MS, token.lifetimeMs - marginMs) - jitterMs;
  const issuedAtMs = token.expiresAtMs - token.lifetimeMs;
  return now.wallMs - issuedAtMs > usableMs || now.monotonicMs - token.obtainedAtMs > usableMs;
}

/** Returns whether a token has expired. */
export function isExpired(token: TokenTimes, now: Instant): boolean {
  return now.wallMs > token.expiresAtMs;
}
