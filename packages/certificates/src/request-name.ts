import { createHash, createPublicKey, type KeyObject } from 'node:crypto';
import type { CertificateSubject } from './subject.ts';

/**
 * Returns the name of a signing request, `node-csr-<digest>`. The same key, subject and usages give the same name, so
 * that a restarted kubelet finds its request (`pkg/kubelet/certificate/bootstrap/bootstrap.go`). Alternative names,
 * which upstream's client certificates do not have, are part of the digest.
 */
export function requestName(subject: CertificateSubject, usages: readonly string[], key: KeyObject): string {
  const hash = createHash('sha512-256');
  // The delimiter is not in base64url's alphabet, so different lists give different texts.
  const write = (data: Uint8Array | string): void => void hash.update(`${Buffer.from(data).toString('base64url')}|`);
  write(createPublicKey(key).export({ type: 'spki', format: 'der' }));
  write(subject.commonName);
  for (const text of [...subject.organizations, ...usages, ...subject.dnsNames, ...subject.ipAddresses]) write(text);
  return `node-csr-${hash.digest('base64url')}`;
}
