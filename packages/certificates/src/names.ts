import { directoryString, element, ipBytes, octetString, oid, sequence, setOf } from './der.ts';
import type { CertificateSubject } from './subject.ts';

const ORGANIZATION = '2.5.4.10';
const COMMON_NAME = '2.5.4.3';

/** Encodes a distinguished name: all organizations in one set, then the common name. */
export function distinguishedName(subject: Pick<CertificateSubject, 'commonName' | 'organizations'>): Buffer {
  const value = (type: string, text: string): Buffer => sequence(oid(type), directoryString(text));
  // DER sorts the elements of a set by their bytes.
  const organizations = subject.organizations.map((text) => value(ORGANIZATION, text)).sort(Buffer.compare);
  return sequence(
    ...(organizations.length > 0 ? [setOf(...organizations)] : []),
    setOf(value(COMMON_NAME, subject.commonName)),
  );
}

/**
 * Encodes the extension of the subject's alternative names. Returns `undefined` if there are none (RFC 5280, 4.2.1.6).
 */
export function alternativeNames(subject: Pick<CertificateSubject, 'dnsNames' | 'ipAddresses'>): Buffer | undefined {
  const names = [
    ...subject.dnsNames.map((name) => element(0x82, Buffer.from(name))),
    ...subject.ipAddresses.map((ip) => element(0x87, ipBytes(ip))),
  ];
  return names.length === 0 ? undefined : sequence(oid('2.5.29.17'), octetString(sequence(...names)));
}
