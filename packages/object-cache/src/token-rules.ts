import type { Pod } from '@node-agent/pod-spec';

/** What a service-account token is for (`authentication.k8s.io/v1` TokenRequestSpec). */
export interface TokenRequestSpec {
  /** Who is to take it; the API server itself where there is none. */
  readonly audiences?: readonly string[];
  readonly expirationSeconds?: number;
  /** With what it ends to be valid. */
  readonly boundObjectRef?: {
    readonly apiVersion: string;
    readonly kind: string;
    readonly name: string;
    readonly uid: string;
  };
}

/** Asks for a token of a service account. */
export interface TokenQuery {
  readonly namespace: string;
  readonly serviceAccountName: string;
  /** That the account still is the one with this UID; whichever has the name where it is absent. */
  readonly serviceAccountUid?: string;
  readonly spec: TokenRequestSpec;
}

const DEFAULT_EXPIRATION_SECONDS = 3600;

/** The token that a projected volume of a pod holds, bound to the pod (`pkg/volume/projected/projected.go`). */
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

/** What tells tokens apart; it holds nothing secret. */
export function tokenKey({ namespace, serviceAccountName, serviceAccountUid, spec }: TokenQuery): string {
  const { audiences = [], expirationSeconds = 0, boundObjectRef: ref } = spec;
  const bound = ref === undefined ? [] : [ref.apiVersion, ref.kind, ref.name, ref.uid];
  return JSON.stringify([serviceAccountName, namespace, audiences, expirationSeconds, bound, serviceAccountUid ?? '']);
}

/** When a token was had, and until when it holds. */
export interface TokenTimes {
  /** By the wall clock, as the API server says. */
  readonly expiresAtMs: number;
  /** How long it was made for, in milliseconds. */
  readonly lifetimeMs: number;
  /** By the monotonic clock. */
  readonly obtainedAtMs: number;
}

/** Now, by both clocks. */
export interface Instant {
  readonly wallMs: number;
  readonly monotonicMs: number;
}

const MAX_AGE_MS = 24 * 60 * 60_000;
/** The longest that a refresh comes early, so that those of many pods do not come together. */
const MAX_JITTER_SECONDS = 10;

/**
 * Whether a token is due to be replaced: after 80% of its life, or after a day, less a jitter of whole seconds.
 * Its age is counted by both clocks, so that it does not expire where the wall clock was set back.
 * @param fraction of the jitter, from 0 to less than 1
 */
export function refreshDue(token: TokenTimes, now: Instant, fraction: number): boolean {
  const jitterMs = Math.trunc(fraction * MAX_JITTER_SECONDS) * 1000;
  const marginMs = Math.trunc((token.lifetimeMs / 1000) * 0.2) * 1000;
  const usableMs = Math.min(MAX_AGE_MS, token.lifetimeMs - marginMs) - jitterMs;
  const issuedAtMs = token.expiresAtMs - token.lifetimeMs;
  return now.wallMs - issuedAtMs > usableMs || now.monotonicMs - token.obtainedAtMs > usableMs;
}

/** Whether nobody takes a token any more. */
export function isExpired(token: TokenTimes, now: Instant): boolean {
  return now.wallMs > token.expiresAtMs;
}
