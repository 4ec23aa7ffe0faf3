import type { KeyObject, X509Certificate } from 'node:crypto';
import { type CertificateFields, certificateFields } from './certificate-fields.ts';

/** Object identifiers of the extended key usages `clientAuth` and `anyExtendedKeyUsage`. */
const CLIENT_USAGES: ReadonlySet<string> = new Set(['2b06010505070302', '551d2500']);
/**
 * Object identifiers of the accepted signature algorithms: RSA (PKCS #1) and ECDSA with SHA-256, SHA-384 and SHA-512,
 * and Ed25519.
 */
const SIGNATURES: ReadonlySet<string> = new Set([
  ...['2a864886f70d01010b', '2a864886f70d01010c', '2a864886f70d01010d'],
  ...['2a8648ce3d040302', '2a8648ce3d040303', '2a8648ce3d040304'],
  '2b6570',
]);
const CURVES: ReadonlySet<unknown> = new Set(['prime256v1', 'secp384r1', 'secp521r1']);
const MIN_RSA_BITS = 2048;
/**
 * The maximum length of an RSA key. Verifying a longer key costs more CPU time than an unauthenticated client may
 * cause.
 */
const MAX_RSA_BITS = 8192;
/** The maximum number of signatures verified per client: unauthenticated clients can send any certificates. */
const MAX_SIGNATURES = 32;
const MAX_LENGTH = 8;

interface Certificate {
  readonly x509: X509Certificate;
  readonly fields: CertificateFields;
}

/**
 * Finds a path from a client's certificate to an authority, trying every authority and intermediate with a matching
 * name, as Go does (`crypto/x509: Certificate.Verify`). OpenSSL, which verifies clients in the handshake, takes the
 * first authority with a matching name. It reports a bad signature if another authority of the same name signed the
 * certificate; during a rotation, both are in the CA file. OpenSSL also rejects an authority that is not self-signed,
 * such as an intermediate in the CA file.
 *
 * The search runs only after OpenSSL has rejected a certificate, so it must never accept a certificate that Go rejects.
 * Therefore the search rejects everything that it does not verify itself, although Go may accept it: constraints on
 * names and policies, critical extensions other than basic constraints and usages, authorities of version 1, RSA-PSS,
 * and weak or very long keys. The handshake has already proven that the client owns the certificate's key.
 *
 * @param sent other certificates that the client sent; they are trusted only if an authority has signed them
 * @returns the client's certificate first, the authority last; `undefined` if there is no path
 */
export function trustedPath(
  leaf: X509Certificate,
  sent: readonly X509Certificate[],
  authorities: readonly X509Certificate[],
  nowMs: number,
): readonly X509Certificate[] | undefined {
  const [first] = readable([leaf]);
  if (first === undefined || !isUsable(first, nowMs) || !isStrong(leaf)) return undefined;
  const trusted = readable(authorities);
  const others = readable(sent);
  let signatures = 0;

  const extend = (path: readonly Certificate[]): readonly Certificate[] | undefined => {
    const last = path.at(-1);
    if (last === undefined || path.length >= MAX_LENGTH) return undefined;
    for (const candidate of [...trusted, ...others]) {
      if (path.some(({ x509 }) => x509.fingerprint256 === candidate.x509.fingerprint256)) continue;
      if (!mayIssue(candidate, last, path.length - 1) || !isUsable(candidate, nowMs)) continue;
      if (++signatures > MAX_SIGNATURES) return undefined;
      if (!isSignedBy(last, candidate)) continue;
      const longer = [...path, candidate];
      const found = trusted.includes(candidate) ? longer : extend(longer);
      if (found !== undefined) return found;
    }
    return undefined;
  };
  return extend([first])?.map(({ x509 }) => x509);
}

/**
 * Returns whether Go accepts a path that OpenSSL has verified. OpenSSL is less strict than Go:
 * - OpenSSL evaluates critical extensions that Go does not know, and reads certificates that Go cannot read.
 * - OpenSSL compares names without regard to case.
 * - OpenSSL does not count self-issued certificates for the path length.
 * - OpenSSL accepts a key usage instead of basic constraints.
 * - OpenSSL checks neither policies nor names with wildcards.
 * @param path the client's certificate first, the authority last
 */
export function isPathForGo(path: readonly X509Certificate[]): boolean {
  const read = readable(path);
  if (read.length < path.length) return false;
  const hasWildcard = read.some(({ fields }) => fields.hasWildcard);
  return read.every(({ x509, fields }, at) => {
    const { unheeded, requiresPolicy, constrainsNames, basicConstraints } = fields;
    if (unheeded.length > 0 || requiresPolicy || (constrainsNames && hasWildcard)) return false;
    if (!isForClients(fields)) return false;
    const issued = read[at - 1];
    if (issued === undefined) return true;
    return (
      isAuthority(x509) && at - 1 <= (basicConstraints?.pathLength ?? at) && fields.subject.equals(issued.fields.issuer)
    );
  });
}

/**
 * Returns whether a certificate may be an issuer according to Go, which requires basic constraints unless the
 * certificate's version has none (`crypto/x509: Certificate.CheckSignatureFrom`). OpenSSL also accepts a key usage.
 */
export function isAuthority(certificate: X509Certificate): boolean {
  const [read] = readable([certificate]);
  if (read === undefined) return false;
  const { basicConstraints, version } = read.fields;
  return basicConstraints?.ca ?? version < 3;
}

/** Drops unreadable certificates, which cannot be part of a path. */
function readable(certificates: readonly X509Certificate[]): readonly Certificate[] {
  return certificates.flatMap((x509) => {
    try {
      return [{ x509, fields: certificateFields(x509.raw) }];
    } catch {
      return [];
    }
  });
}

/**
 * Returns whether a certificate may be part of a path: it is valid now, may be used by clients, and has no unhandled
 * constraint.
 */
function isUsable({ x509, fields }: Certificate, nowMs: number): boolean {
  const isValid = Date.parse(x509.validFrom) <= nowMs && nowMs <= Date.parse(x509.validTo);
  return isValid && isForClients(fields) && fields.unhandled.length === 0;
}

function isForClients({ extendedUsages }: CertificateFields): boolean {
  return extendedUsages?.some((usage) => CLIENT_USAGES.has(usage)) ?? true;
}

/**
 * Returns whether a certificate may have issued another one, by usage, name and path length; signatures are not checked
 * here.
 * @param below the number of certificates between the issuer and the client's certificate
 */
function mayIssue({ fields: issuer }: Certificate, { fields: issued }: Certificate, below: number): boolean {
  const { basicConstraints, signsCertificates = true } = issuer;
  if (basicConstraints?.ca !== true || !signsCertificates) return false;
  if (basicConstraints.pathLength !== undefined && below > basicConstraints.pathLength) return false;
  return issuer.subject.equals(issued.issuer);
}

function isSignedBy({ x509, fields }: Certificate, issuer: Certificate): boolean {
  if (!SIGNATURES.has(fields.signatureAlgorithm)) return false;
  return isStrong(issuer.x509) && x509.verify(issuer.x509.publicKey);
}

function isStrong(certificate: X509Certificate): boolean {
  let key: KeyObject;
  try {
    key = certificate.publicKey;
  } catch {
    // OpenSSL does not know this type of key.
    return false;
  }
  const { asymmetricKeyType, asymmetricKeyDetails } = key;
  const { modulusLength = 0, namedCurve } = asymmetricKeyDetails ?? {};
  if (asymmetricKeyType === 'rsa') return modulusLength >= MIN_RSA_BITS && modulusLength <= MAX_RSA_BITS;
  return asymmetricKeyType === 'ed25519' || (asymmetricKeyType === 'ec' && CURVES.has(namedCurve));
}
