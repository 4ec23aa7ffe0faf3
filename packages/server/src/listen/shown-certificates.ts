import { X509Certificate } from 'node:crypto';
import type { DetailedPeerCertificate, TLSSocket } from 'node:tls';
import type { Clock } from '@node-agent/async';
import type { ClientAuthorities } from '../access/client-ca-file.ts';
import { type ClientCertificate, clientCertificate } from '../access/client-certificate.ts';
import { certificatesIn } from '../access/pem-certificates.ts';
import { isPathForGo, trustedPath } from '../access/trusted-path.ts';

/** Client certificates from TLS handshakes. Each certificate is parsed once per connection. */
export class ShownCertificates {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #authorities: Pick<ClientAuthorities, 'pem' | 'fingerprints'> | undefined;
  readonly #known = new WeakMap<object, ClientCertificate | undefined>();
  #parsed: { readonly pem: string; readonly certificates: readonly X509Certificate[] } = { pem: '', certificates: [] };

  /**
   * @param authorities if absent, client certificates are ignored: OpenSSL would verify them with the public
   * authorities
   */
  constructor(clock: Pick<Clock, 'now'>, authorities: Pick<ClientAuthorities, 'pem' | 'fingerprints'> | undefined) {
    this.#clock = clock;
    this.#authorities = authorities;
  }

  /** Returns the client certificate of a connection, or `undefined` if the client sent none. */
  of(socket: TLSSocket): ClientCertificate | undefined {
    const authorities = this.#authorities;
    if (authorities === undefined) return undefined;
    if (this.#known.has(socket)) return this.#known.get(socket);
    const peer = socket.getPeerCertificate(true);
    const problem = socket.authorized ? undefined : String(socket.authorizationError ?? 'not verified');
    const certificate = peer?.fingerprint256 === undefined ? undefined : this.#judged(peer, problem, authorities);
    this.#known.set(socket, certificate);
    return certificate;
  }

  /**
   * Returns the client certificate with the verdict that Go would reach. OpenSSL's verdict is corrected in two cases:
   * OpenSSL did not try a valid path to an authority, or OpenSSL accepted a path that Go rejects.
   */
  #judged(
    peer: DetailedPeerCertificate,
    problem: string | undefined,
    authorities: Pick<ClientAuthorities, 'pem' | 'fingerprints'>,
  ): ClientCertificate {
    const shown = clientCertificate(peer, problem);
    const [leaf, ...issuers] = certificatesOf(peer);
    if (leaf === undefined) return shown;
    const anchor = shown.fingerprints.findIndex((fingerprint) => authorities.fingerprints.has(fingerprint));
    const isAnchored = anchor >= 0;
    if (problem === undefined && isAnchored && isPathForGo([leaf, ...issuers].slice(0, anchor + 1))) return shown;
    const path = trustedPath(leaf, issuers, this.#certificates(authorities.pem), this.#clock.now());
    if (path !== undefined) return clientCertificate(peer, undefined, path);
    return isAnchored
      ? {
          ...shown,
          problem: problem ?? 'certificate or an issuer of it has an extension or a name that is not accepted',
        }
      : shown;
  }

  #certificates(pem: string): readonly X509Certificate[] {
    if (this.#parsed.pem !== pem) this.#parsed = { pem, certificates: certificatesIn(pem) };
    return this.#parsed.certificates;
  }
}

/** Returns the client's certificate and the issuers that TLS linked to it by name. */
function certificatesOf(peer: DetailedPeerCertificate): readonly X509Certificate[] {
  const seen = new Set<DetailedPeerCertificate>();
  // The loop stops at a self-signed certificate, which is its own issuer.
  for (
    let next: DetailedPeerCertificate | undefined = peer;
    next?.raw && !seen.has(next);
    next = next.issuerCertificate
  )
    seen.add(next);
  return [...seen].map(({ raw }) => new X509Certificate(raw));
}
