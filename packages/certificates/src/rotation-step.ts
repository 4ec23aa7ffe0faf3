import type { CertificatePair } from './certificate-pair.ts';
import { isExpired, subjectMismatch } from './rotation-rules.ts';
import { type CertificateSubject, sameSubject } from './subject.ts';

/** Input for the decision of a certificate manager. Times are wall clock, in milliseconds since the Unix epoch. */
export interface RotationState {
  readonly nowMs: number;
  readonly pair: CertificatePair | undefined;
  /** The wanted subject; `undefined` while the subject is unknown. */
  readonly subject: CertificateSubject | undefined;
  /** Time at which the pair should be replaced. */
  readonly rotateAtMs: number;
  /** Whether certificates are renewed. If false, a certificate is requested only if there is none. */
  readonly rotate: boolean;
  /** Whether the pair must be replaced now, because it is the initial pair or the server rejected it. */
  readonly forced: boolean;
  /** Subject for which this process requested the pair. The signer may have omitted a part of the subject. */
  readonly issuedFor: CertificateSubject | undefined;
}

/** Next action of a certificate manager: wait until a time at most, or request a certificate for a reason. */
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

/** Credentials for a certificate request: the current certificate or the bootstrap credentials. */
export type RequestIdentity = 'current' | 'bootstrap';

/**
 * Returns the credentials for the next request. If the certificate has expired or was rejected, the requests alternate
 * between the certificate and the bootstrap credentials, because clocks and servers may be wrong, and a bootstrap token
 * expires (`cmd/kubelet/app/server.go`, `buildClientCertificateManager`).
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
