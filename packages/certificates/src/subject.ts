import { isIPv6 } from 'node:net';
import ipaddr from 'ipaddr.js';

/** The subject of a certificate. */
export interface CertificateSubject {
  readonly commonName: string;
  readonly organizations: readonly string[];
  readonly dnsNames: readonly string[];
  /** IP addresses in the form that `canonicalIp` returns. */
  readonly ipAddresses: readonly string[];
}

/**
 * Returns the canonical form of an IP address: IPv6 as in RFC 5952, in lower case. Other texts are returned unchanged.
 */
export function canonicalIp(ip: string): string {
  return isIPv6(ip) && !ip.includes('%') ? ipaddr.IPv6.parse(ip).toRFC5952String() : ip;
}

/**
 * Returns the identity of a node at the API server: the user `system:node:<name>` in the group `system:nodes` (the Node
 * authorizer's rule).
 */
export function nodeSubject(nodeName: string): CertificateSubject {
  return { commonName: `system:node:${nodeName}`, organizations: ['system:nodes'], dnsNames: [], ipAddresses: [] };
}

/** Returns whether two subjects are equal. */
export function sameSubject(a: CertificateSubject | undefined, b: CertificateSubject | undefined): boolean {
  return JSON.stringify(fieldsOf(a)) === JSON.stringify(fieldsOf(b));
}

function fieldsOf(subject: CertificateSubject | undefined): unknown {
  if (subject === undefined) return undefined;
  return [subject.commonName, subject.organizations, subject.dnsNames, subject.ipAddresses];
}
