import { getCACertificates } from 'node:tls';

/**
 * The authorities that the machine trusts, PEM each, as Go's programs take them (`SSL_CERT_FILE` and `SSL_CERT_DIR` say where they are, where
 * they are set); `undefined`, for Node.js's own, where the machine has none.
 */
export function systemAuthorities(): string[] | undefined {
  const found = getCACertificates('system');
  return found.length > 0 ? found : undefined;
}
