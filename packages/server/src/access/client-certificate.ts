import { X509Certificate } from 'node:crypto';
import type { DetailedPeerCertificate } from 'node:tls';
import type { UserInfo } from './user.ts';

/** A client's certificate, as TLS has shown it. */
export interface ClientCertificate {
  /** Why the handshake did not find it good; `undefined` where it did. */
  readonly problem: string | undefined;
  readonly user: UserInfo | undefined;
  /** When the first of its chain begins to be good, and when the first ends to be; milliseconds since the Unix epoch. */
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
  /** SHA-256 fingerprints of all certificates of its chain, up to the authority. */
  readonly fingerprints: readonly string[];
}

/** Who a client certificate says to be, or why that is not believed. */
export type CertificateVerdict =
  | { readonly user: UserInfo }
  | { readonly problem: string }
  /** It is good and names nobody. */
  | undefined;

/**
 * Whether a certificate is good now: what the handshake found may be old on a connection that is kept. Its chain must not
 * have run out, and must end in an authority that is believed still.
 * @param authorities fingerprints of the authorities that are believed
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
    return { problem: 'certificate signed by an authority that is no longer believed' };
  }
  return user && { user };
}

/** The object identifier of a name's part that holds a user's UID (KEP-4940 of upstream's certificate users). */
const UID_OID = '1.3.6.1.4.1.57683.2';

/**
 * Takes what matters out of the certificate that a TLS socket has of its peer.
 * @param path the certificate and its issuers up to the authority; as TLS has put them together if unset
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

/** `CommonNameUserConversion`, `k8s.io/apiserver/pkg/authentication/request/x509`: the name is the user, organisations its groups. */
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

/** The chain, as far as each one's signature is of the next one's key: TLS has put it together by names, and clients send what they like. */
function* chainOf(leaf: DetailedPeerCertificate): Generator<DetailedPeerCertificate> {
  const seen = new Set<DetailedPeerCertificate>();
  // An authority's issuer is itself.
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
