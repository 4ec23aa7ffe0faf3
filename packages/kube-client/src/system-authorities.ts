import { getCACertificates } from 'node:tls';

/**
 * Returns the certificate authorities that the machine trusts, as PEM, as Go programs read them (from `SSL_CERT_FILE`
 * and `SSL_CERT_DIR`, if set). Returns `undefined`, for Node.js' own list, if the machine has none.
 */
export function systemAuthorities(): string[] | undefined {
  const found = getCACertificates('system');
  return found.length > 0 ? found : undefined;
}
