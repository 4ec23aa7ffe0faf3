import type { TLSSocket } from 'node:tls';
import { type ClientCertificate, clientCertificate } from '../access/client-certificate.ts';

/** What clients have shown in the handshakes of their connections, taken apart once for each. */
export class ShownCertificates {
  readonly #known = new WeakMap<object, ClientCertificate | undefined>();

  /** `undefined` where the client showed none. */
  of(socket: TLSSocket): ClientCertificate | undefined {
    if (this.#known.has(socket)) return this.#known.get(socket);
    const peer = socket.getPeerCertificate(true);
    const problem = socket.authorized ? undefined : String(socket.authorizationError ?? 'not verified');
    const certificate = peer?.fingerprint256 === undefined ? undefined : clientCertificate(peer, problem);
    this.#known.set(socket, certificate);
    return certificate;
  }
}
