import { X509Certificate } from 'node:crypto';
import type { DetailedPeerCertificate } from 'node:tls';

const BLOCK = /-----BEGIN (?:X509 |TRUSTED )?CERTIFICATE-----[^-]+-----END (?:X509 |TRUSTED )?CERTIFICATE-----/g;

/**
 * Returns the sets of authorities with which to verify a server, in the order in which to try them: the whole bundle,
 * then sets in which each subject occurs once. During a CA rotation, a bundle contains two authorities with the same
 * subject. If no key identifiers distinguish them, OpenSSL tries only the first: it reports a bad signature although
 * the second authority signed the certificate. Go tries each (`crypto/x509: Certificate.buildChains`).
 *
 * Each set is a subset of the bundle, and OpenSSL alone verifies: a server that one set verifies is verified by
 * authorities of the bundle, under all of OpenSSL's rules. A bundle without a repeated subject yields one set.
 */
export function trustSets(bundle: string): readonly string[] {
  const bySubject = new Map<string, string[]>();
  try {
    for (const [block] of bundle.matchAll(BLOCK)) {
      // OpenSSL compares names ignoring case and repeated spaces.
      const subject = new X509Certificate(block).subject?.toLowerCase().replace(/ +/g, ' ') ?? '';
      const same = bySubject.get(subject) ?? [];
      if (!same.includes(block)) same.push(block);
      bySubject.set(subject, same);
    }
  } catch {
    // An invalid bundle is returned whole: OpenSSL reports the error when it loads the bundle.
    return [bundle];
  }
  const groups = [...bySubject.values()];
  const count = groups.reduce((most, { length }) => Math.max(most, length), 0);
  if (count < 2) return [bundle];
  const sets = Array.from({ length: count }, (_, i) => groups.map((same) => same[i % same.length]).join('\n'));
  return [bundle, ...sets];
}

/** The DER tag of the version field in an X.509 certificate. Version 1 certificates do not have the field. */
const VERSION = 0xa0;

/**
 * Returns whether the basic constraints of all issuers in a verified chain mark them as authorities. Go requires this
 * of all but version 1 certificates (`crypto/x509: Certificate.CheckSignatureFrom`); OpenSSL also accepts a key usage.
 */
export function issuersAreAuthorities(leaf: DetailedPeerCertificate): boolean {
  // Ends the loop at the root: a self-signed certificate is its own issuer.
  const seen = new Set([leaf]);
  let issuer: DetailedPeerCertificate | undefined = leaf.issuerCertificate;
  for (; issuer?.raw !== undefined && !seen.has(issuer); issuer = issuer.issuerCertificate) {
    seen.add(issuer);
    if (!new X509Certificate(issuer.raw).ca && !isVersion1(issuer.raw)) return false;
  }
  return true;
}

function isVersion1(der: Buffer): boolean {
  const toBeSigned = headerLength(der, 0);
  return der[toBeSigned + headerLength(der, toBeSigned)] !== VERSION;
}

function headerLength(der: Buffer, at: number): number {
  const length = der[at + 1] ?? 0;
  return length < 0x80 ? 2 : 2 + (length & 0x7f);
}
