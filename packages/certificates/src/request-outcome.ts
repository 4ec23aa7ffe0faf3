import type { resources } from '@node-agent/kube-client';

/** A `CertificateSigningRequest` of `certificates.k8s.io/v1` in its JSON form. */
export type SigningRequestObject = NonNullable<(typeof resources.certificateSigningRequests)['object']>;

/** State of a certificate signing request. */
export type RequestOutcome =
  | { readonly state: 'pending' | 'approved' }
  | { readonly state: 'issued'; readonly certificate: string }
  | { readonly state: 'denied' | 'failed'; readonly reason: string; readonly message: string };

/**
 * Returns the state of a certificate signing request from its conditions. A denial or failure is final, whatever other
 * conditions exist. A certificate counts only if the request is approved.
 */
export function requestOutcome({ status }: Pick<SigningRequestObject, 'status'>): RequestOutcome {
  const conditions = status?.conditions ?? [];
  for (const { type, reason = '', message = '' } of conditions) {
    if (type === 'Denied') return { state: 'denied', reason, message };
    if (type === 'Failed') return { state: 'failed', reason, message };
  }
  if (!conditions.some(({ type }) => type === 'Approved')) return { state: 'pending' };
  const certificate = Buffer.from(status?.certificate ?? '', 'base64').toString();
  return certificate === '' ? { state: 'approved' } : { state: 'issued', certificate };
}
