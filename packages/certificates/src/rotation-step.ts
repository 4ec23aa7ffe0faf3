import type { CertificatePair } from './certificate-pair.ts';
import { isExpired, subjectMismatch } from './rotation-rules.ts';
import { type CertificateSubject, sameSubject } from './subject.ts';

/** What is known when a certificate manager decides what to do. Times are the wall clock's, in ms since the epoch. */
export interface RotationState {
  readonly nowMs: number;
  readonly pair: CertificatePair | undefined;
  /** What a certificate is wanted for; `undefined` while that is not known. */
  readonly subject: CertificateSubject | undefined;
  /** When the pair is to be replaced. */
  readonly rotateAtMs: number;
  /** Whether certificates are replaced at all, or only asked for where there is none. */
  readonly rotate: boolean;
  /** The pair is only there to get a better one, or the server does not take it. */
  readonly forced: boolean;
  /** What the pair was issued for, by this process: a signer may leave out what was asked for. */
  readonly issuedFor: CertificateSubject | undefined;
}

/** To wait, at the longest until an instant; or to ask for a certificate, and why. */
export type RotationStep =
  | { readonly do: 'wait'; readonly untilMs: number }
  | { readonly do: 'request'; readonly why: string };

/** Decides whether a certificate is asked for now. */
export function rotationStep(state: RotationState): RotationStep {
  const { nowMs, pair, subject, rotateAtMs } = state;
  if (subject === undefined) return { do: 'wait', untilMs: Number.POSITIVE_INFINITY };
  if (pair === undefined) return { do: 'request', why: 'there is no certificate' };
  if (state.forced) return { do: 'request', why: 'the certificate is to be replaced by one of its own' };
  if (!state.rotate) return { do: 'wait', untilMs: Number.POSITIVE_INFINITY };
  if (isExpired(pair.leaf, nowMs)) return { do: 'request', why: 'the certificate has expired' };
  const mismatch = sameSubject(subject, state.issuedFor) ? undefined : subjectMismatch(pair.leaf, subject);
  if (mismatch !== undefined) return { do: 'request', why: `the certificate is for something else: ${mismatch}` };
  if (nowMs >= rotateAtMs) return { do: 'request', why: 'the certificate will expire' };
  return { do: 'wait', untilMs: rotateAtMs };
}

/** With whose credentials a request is made: those of the certificate that there is, or those that one begins with. */
export type RequestIdentity = 'current' | 'bootstrap';

/**
 * Who asks. A certificate that is over, or that the server does not accept, is asked with only in turn with what one begins
 * with: clocks and servers may err, and a bootstrap token does not last (`cmd/kubelet/app/server.go`,
 * `buildClientCertificateManager`).
 * @param failures how many requests in a row have failed
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
