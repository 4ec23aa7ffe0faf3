import { X509Certificate } from 'node:crypto';

const BLOCK = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** Returns the certificates in a PEM text. @throws OpenSSL's error if one is unreadable */
export function certificatesIn(pem: string): readonly X509Certificate[] {
  return (pem.match(BLOCK) ?? []).map((block) => new X509Certificate(block));
}
