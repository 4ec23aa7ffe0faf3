import type { CertificatePair } from './certificate-pair.ts';
import { isExpired, subjectMismatch } from './rotation-rules.ts';
import { type CertificateSubject, sameSubject } from './subject.ts';

/**
 * The input of a certificate manager's decision. Times are those of the wall clock, in milliseconds since the epoch.
 */
export interface RotationState {
  readonly nowMs: number;
  readonly pair: CertificatePair | undefined;
  /** The wanted subject. `undefined` while it is unknown. */
  readonly subject: CertificateSubject | undefined;
  /** When the pair should be replaced. */
  readonly rotateAtMs: number;
  /** Whether certificates are renewed. If false, one is requested only if there is none. */
  readonly rotate: boolean;
  /** The pair is only an initial one, or the server rejected it. */
  readonly forced: boolean;
  /** The subject for which this process obtained the pair. A signer may have left out part of it. */
  readonly issuedFor: CertificateSubject | undefined;
}

/** Wait, at most until a time; or request a certificate, with the reason. */
export type RotationStep =
  | { readonly do: 'wait'; readonly untilMs: number }
  | { readonly do: 'request'; readonly why: string };

/** Decides whether to request a certificate now. */
export function rotationStep(state: RotationState): RotationStep {
  const { nowMs, pair, subject, rotateAtMs } = state;
  if (subject === undefined) return { do: 'wait', untilMs: Number.POSITIVE_INFINITY };
  if (pair === undefined) return { do: 'request', why: 'there is no certificate' };
  if (state.forced) return { do: 'request', why: 'the certificate must be replaced by one of its own' };
  if (!state.rotate) return { do: 'wait', untilMs: Number.POSITIVE_INFINITY };
  if (isExpired(pair.leaf, nowMs)) return { do: 'request', why: 'the certificate has expired' };
  const mismatch = sameSubject(subject, state.issuedFor) ? undefined : subjectMismatch(pair.leaf, subject);
  if (mismatch !== undefined) return { do: 'request', why: `the subject has changed: ${mismatch}` };
  if (nowMs >= rotateAtMs) return { do: 'request', why: 'the certificate will expire' };
  return { do: 'wait', untilMs: rotateAtMs };
}

/** The credentials of a request: those of the current certificate, or the bootstrap credentials. */
export type RequestIdentity = 'current' | 'bootstrap';

/**
 * Returns the credentials for the next request. If the certificate has expired or was rejected, it alternates with the
 * bootstrap credentials: clocks and servers may be wrong, and a bootstrap token expires (`cmd/kubelet/app/server.go`,
 * `buildClientCertificateManager`).
 * @param failures the number of consecutive failed requests
 */
export function requestIdentity(
  pair: CertificatePair | undefined,
  isAccepted: boolean,
  nowMs: number,
  failures: number,
): RequestIdentity {
  if (pair === undefined) return 'bootstrap';
  return (isAccepted && !isExpired(pair.leaf, nowMs)) || failures % 2 === 1 ? 'current' : 'bootstrap';
}
