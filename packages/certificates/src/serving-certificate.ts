import type { SecureContextOptions, Server } from 'node:tls';
import type { CertificatePair } from './certificate-pair.ts';

/** What a server serves with: by signing request, from files, or self-signed. */
export interface ServingCertificate {
  /** The pair in use; `undefined` while there is none: handshakes fail then. */
  readonly current: CertificatePair | undefined;
  /** Calls `listener` whenever another pair is in use. @returns ends that */
  onChange(listener: (pair: CertificatePair) => void): () => void;
}

/**
 * Gives a TLS server the certificate that there is, and each one that comes; connections that are open stay.
 * @param options what else belongs to the secure context: versions, cipher suites, the CA of clients
 * @returns ends that
 */
export function serveWith(
  server: Pick<Server, 'setSecureContext'>,
  certificate: ServingCertificate,
  options: SecureContextOptions = {},
): () => void {
  const use = ({ cert, key }: CertificatePair): void => server.setSecureContext({ ...options, cert, key });
  if (certificate.current !== undefined) use(certificate.current);
  return certificate.onChange(use);
}
