import { createPrivateKey, X509Certificate } from 'node:crypto';
import { CertificateError } from './errors.ts';
import { type CertificateSubject, canonicalIp } from './subject.ts';

/** The content of the first certificate in a chain. */
export interface LeafCertificate extends CertificateSubject {
  readonly issuer: string;
  /** Start of the validity, in milliseconds since the Unix epoch. */
  readonly notBeforeMs: number;
  /** End of the validity, in milliseconds since the Unix epoch. */
  readonly notAfterMs: number;
}

/** A certificate with its chain and private key. The key is a secret and must not be logged. */
export interface CertificatePair {
  /** The certificate in PEM, followed by the certificates of its issuers. */
  readonly cert: string;
  /** The private key in PEM. */
  readonly key: string;
  readonly leaf: LeafCertificate;
}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;
const PRIVATE_KEY = /-----BEGIN ((?:[A-Z]+ )?PRIVATE KEY)-----[^-]+-----END \1-----/;

/**
 * Parses a certificate and its key from PEM texts. Both parameters may be the same text, and may contain other data.
 * @throws CertificateError `InvalidPair` if a part is missing or unreadable, or if the key does not match the
 * certificate
 */
export function parsePair(certificateText: string, keyText: string): CertificatePair {
  const invalid = (message: string, cause?: unknown): CertificateError =>
    new CertificateError('InvalidPair', message, cause);
  const chain = certificateText.match(CERTIFICATE) ?? [];
  const [first] = chain;
  if (first === undefined) throw invalid('there is no certificate in PEM');
  const key = PRIVATE_KEY.exec(keyText)?.[0];
  if (key === undefined) throw invalid('there is no private key in PEM');
  let certificate: X509Certificate;
  try {
    certificate = new X509Certificate(first);
    for (const issuer of chain.slice(1)) new X509Certificate(issuer);
  } catch (cause) {
    throw invalid('a certificate cannot be parsed', cause);
  }
  let belongs: boolean;
  try {
    belongs = certificate.checkPrivateKey(createPrivateKey(key));
  } catch (cause) {
    throw invalid('the private key cannot be parsed', cause);
  }
  if (!belongs) throw invalid('the private key does not match the certificate');
  return { cert: `${chain.join('\n')}\n`, key: `${key}\n`, leaf: leafOf(certificate) };
}

/**
 * Parses the certificates in a PEM text. @throws CertificateError `InvalidPair` if there is no certificate, or a
 * certificate is unreadable
 */
export function parseCertificates(text: string): readonly LeafCertificate[] {
  const found = text.match(CERTIFICATE) ?? [];
  if (found.length === 0) throw new CertificateError('InvalidPair', 'there is no certificate in PEM');
  try {
    return found.map((one) => leafOf(new X509Certificate(one)));
  } catch (cause) {
    throw new CertificateError('InvalidPair', 'a certificate cannot be parsed', cause);
  }
}

/**
 * Returns whether a text contains at least one valid PEM certificate. As in Go's `AppendCertsFromPEM`, invalid
 * certificates are ignored.
 */
export function hasCertificate(text: string): boolean {
  return (text.match(CERTIFICATE) ?? []).some((one) => {
    try {
      return new X509Certificate(one).serialNumber !== '';
    } catch {
      return false;
    }
  });
}

function leafOf(certificate: X509Certificate): LeafCertificate {
  const subject: Readonly<Record<string, unknown>> = { ...certificate.toLegacyObject().subject };
  const names = certificate.subjectAltName?.split(', ') ?? [];
  const of = (prefix: string): string[] =>
    names.filter((name) => name.startsWith(prefix)).map((name) => name.slice(prefix.length));
  return {
    commonName: texts(subject.CN)[0] ?? '',
    organizations: texts(subject.O),
    dnsNames: of('DNS:'),
    ipAddresses: of('IP Address:').map(canonicalIp),
    issuer: certificate.issuer,
    notBeforeMs: certificate.validFromDate.getTime(),
    notAfterMs: certificate.validToDate.getTime(),
  };
}

function texts(value: unknown): readonly string[] {
  return (Array.isArray(value) ? value : [value]).filter((text) => typeof text === 'string');
}
