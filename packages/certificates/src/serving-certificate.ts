import type { SecureContextOptions, Server } from 'node:tls';
import type { CertificatePair } from './certificate-pair.ts';

/** A serving certificate: by signing request, from files, or self-signed. */
export interface ServingCertificate {
  /** The pair in use. `undefined` while there is none; handshakes fail then. */
  readonly current: CertificatePair | undefined;
  /** Calls `listener` whenever the pair in use changes. @returns a function that removes the listener */
  onChange(listener: (pair: CertificatePair) => void): () => void;
}

/**
 * Supplies a TLS server with the current certificate and each later one. Open connections stay open.
 * @param options the other options of the secure context: versions, cipher suites, the CA of clients
 * @returns a function that stops the updates
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
