import { isIPv6 } from 'node:net';
import ipaddr from 'ipaddr.js';

/** Whom a certificate is about. */
export interface CertificateSubject {
  readonly commonName: string;
  readonly organizations: readonly string[];
  readonly dnsNames: readonly string[];
  /** In the form of `canonicalIp`. */
  readonly ipAddresses: readonly string[];
}

/** One way to write each address: IPv6 as in RFC 5952, in lower case. What is no address is returned as it is. */
export function canonicalIp(ip: string): string {
  return isIPv6(ip) && !ip.includes('%') ? ipaddr.IPv6.parse(ip).toRFC5952String() : ip;
}

/** Who a node is to the API server: a user `system:node:<name>` of the group `system:nodes` (the Node authorizer's rule). */
export function nodeSubject(nodeName: string): CertificateSubject {
  return { commonName: `system:node:${nodeName}`, organizations: ['system:nodes'], dnsNames: [], ipAddresses: [] };
}

/** Whether two subjects ask for the same certificate. */
export function sameSubject(a: CertificateSubject | undefined, b: CertificateSubject | undefined): boolean {
  return JSON.stringify(fieldsOf(a)) === JSON.stringify(fieldsOf(b));
}

function fieldsOf(subject: CertificateSubject | undefined): unknown {
  if (subject === undefined) return undefined;
  return [subject.commonName, subject.organizations, subject.dnsNames, subject.ipAddresses];
}
