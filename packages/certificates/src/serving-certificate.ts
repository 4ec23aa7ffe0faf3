import type { SecureContextOptions, Server } from 'node:tls';
import type { CertificatePair } from './certificate-pair.ts';

/** Source of a serving certificate: a signing request, files, or a self-signed certificate. */
export interface ServingCertificate {
  /** The certificate pair in use; `undefined` while there is none, so that TLS handshakes fail. */
  readonly current: CertificatePair | undefined;
  /** Calls `listener` whenever the certificate pair in use changes. @returns a function that removes the listener */
  onChange(listener: (pair: CertificatePair) => void): () => void;
}

/**
 * Sets the current certificate, and each later one, in a TLS server. Open connections stay open.
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
