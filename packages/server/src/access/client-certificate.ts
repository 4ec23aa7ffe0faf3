import { X509Certificate } from 'node:crypto';
import type { DetailedPeerCertificate } from 'node:tls';
import type { UserInfo } from './user.ts';

/** The client certificate from the TLS handshake. */
export interface ClientCertificate {
  /** The reason for which TLS verification failed. `undefined` if verification succeeded. */
  readonly problem: string | undefined;
  readonly user: UserInfo | undefined;
  /**
   * The time from which all certificates of the chain are valid, and the time at which the first of them expires. Both
   * are in milliseconds since the Unix epoch.
   */
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
  /** The SHA-256 fingerprints of all certificates in the chain, up to the authority. */
  readonly fingerprints: readonly string[];
}

/** The user of a client certificate, or why the certificate is rejected. */
export type CertificateVerdict =
  | { readonly user: UserInfo }
  | { readonly problem: string }
  /** `undefined`: the certificate is valid but names no user. */
  | undefined;

/**
 * Checks whether a certificate is valid now. The check is needed for every request, because the handshake of a kept
 * connection may be long ago. No certificate in the chain may have expired, and the chain must end in an authority that
 * is still trusted.
 */
export function judgeCertificate(
  { problem, user, notBeforeMs, notAfterMs, fingerprints }: ClientCertificate,
  authorities: ReadonlySet<string>,
  nowMs: number,
): CertificateVerdict {
  if (problem !== undefined) return { problem };
  if (nowMs < notBeforeMs) return { problem: 'certificate is not yet valid' };
  if (nowMs > notAfterMs) return { problem: 'certificate has expired' };
  if (!fingerprints.some((fingerprint) => authorities.has(fingerprint))) {
    return { problem: 'certificate signed by an authority that is no longer trusted' };
  }
  return user && { user };
}

/** The object identifier of the name attribute that contains a user's UID (KEP-4940). */
const UID_OID = '1.3.6.1.4.1.57683.2';

/**
 * Extracts the relevant fields of the peer certificate of a TLS socket.
 * @param path the certificate and its issuers up to the authority. Default: the chain that TLS built
 */
export function clientCertificate(
  peer: DetailedPeerCertificate,
  problem: string | undefined,
  path?: readonly X509Certificate[],
): ClientCertificate {
  const chain = path?.map((certificate) => certificate.toLegacyObject()) ?? [...chainOf(peer)];
  return {
    problem,
    user: certificateUser(peer),
    notBeforeMs: Math.max(...chain.map(({ valid_from: from }) => Date.parse(from))),
    notAfterMs: Math.min(...chain.map(({ valid_to: to }) => Date.parse(to))),
    fingerprints: chain.map(({ fingerprint256 }) => fingerprint256),
  };
}

/**
 * Maps a subject to a user as `CommonNameUserConversion` does (`k8s.io/apiserver/pkg/authentication/request/x509`): the
 * common name is the user, the organizations are the groups.
 */
function certificateUser({ subject, fingerprint256 }: DetailedPeerCertificate): UserInfo | undefined {
  const parts: Readonly<Record<string, string | string[] | undefined>> = { ...subject };
  const name = valuesOf(parts.CN).at(-1);
  if (!name) return undefined;
  const [uid] = valuesOf(parts[UID_OID]);
  const id = `X509SHA256=${fingerprint256.replaceAll(':', '').toLowerCase()}`;
  return {
    name,
    ...(uid && { uid }),
    groups: valuesOf(parts.O),
    extra: { 'authentication.kubernetes.io/credential-id': [id] },
  };
}

/**
 * Yields the certificates of a chain as long as each certificate is really signed by the next. TLS links certificates
 * by name only, and clients can send any certificates.
 */
function* chainOf(leaf: DetailedPeerCertificate): Generator<DetailedPeerCertificate> {
  const seen = new Set<DetailedPeerCertificate>();
  // The issuer of a self-signed authority is the authority itself, so the loop stops at a certificate that it has
  // already seen.
  for (let next: DetailedPeerCertificate | undefined = leaf; next?.fingerprint256 && !seen.has(next); ) {
    seen.add(next);
    yield next;
    const issuer: DetailedPeerCertificate | undefined = next.issuerCertificate;
    next = issuer?.raw !== undefined && isSignedBy(next, issuer) ? issuer : undefined;
  }
}

function isSignedBy({ raw }: DetailedPeerCertificate, issuer: DetailedPeerCertificate): boolean {
  return new X509Certificate(raw).verify(new X509Certificate(issuer.raw).publicKey);
}

function valuesOf(value: string | readonly string[] | undefined): readonly string[] {
  if (value === undefined) return [];
  return typeof value === 'string' ? [value] : value;
}
