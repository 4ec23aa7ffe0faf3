import { createHash, createPublicKey, type KeyObject } from 'node:crypto';
import type { CertificateSubject } from './subject.ts';

/**
 * The name of a signing request, `node-csr-<digest>`: the same for the same key, subject and usages, so that a kubelet that
 * was restarted finds the request it made (`pkg/kubelet/certificate/bootstrap/bootstrap.go`). Alternative names, which
 * upstream's client certificates do not have, count too.
 */
export function requestName(subject: CertificateSubject, usages: readonly string[], key: KeyObject): string {
  const hash = createHash('sha512-256');
  // The delimiter is none of base64url's characters, so that two lists never give the same text.
  const write = (data: Uint8Array | string): void => void hash.update(`${Buffer.from(data).toString('base64url')}|`);
  write(createPublicKey(key).export({ type: 'spki', format: 'der' }));
  write(subject.commonName);
  for (const text of [...subject.organizations, ...usages, ...subject.dnsNames, ...subject.ipAddresses]) write(text);
  return `node-csr-${hash.digest('base64url')}`;
}
