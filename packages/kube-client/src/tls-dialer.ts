import { isIP } from 'node:net';
import { type ConnectionOptions, connect, createSecureContext, type SecureContext, type TLSSocket } from 'node:tls';
import type { Clock } from '@node-agent/async';
import type { ServerAddress } from './connection-pool.ts';
import type { TlsMaterial } from './credentials.ts';
import { withDialDeadline } from './dial-deadline.ts';
import { systemAuthorities } from './system-authorities.ts';
import { systemErrorOf, toError } from './system-errors.ts';
import { issuersAreAuthorities, trustSets } from './trust-sets.ts';
import { openTunnel } from './tunnel.ts';

/** How the server's certificate is looked at. */
export interface ServerTls {
  /** The name that it must have; the host's where absent. */
  readonly servername: string | undefined;
  readonly rejectUnauthorized: boolean;
}

/** After so much silence the kernel probes a connection, and finds a peer that vanished 10 s later. */
const KEEP_ALIVE_MS = 30_000;

/** Makes TLS connections to one server, through its proxy if it has one. */
export class TlsDialer {
  readonly server: ServerAddress;
  readonly #clock: Pick<Clock, 'setTimer'>;
  readonly #options: ConnectionOptions;
  readonly #material: TlsMaterial;
  readonly #proxy: URL | undefined;
  /** Made at the first dial: the system's authorities are many. */
  #contexts: readonly SecureContext[] | undefined;
  /** The index of the context that verified the server last. */
  #preferred = 0;

  constructor(
    clock: Pick<Clock, 'setTimer'>,
    server: ServerAddress,
    material: TlsMaterial,
    { servername, rejectUnauthorized }: ServerTls,
    proxy: URL | undefined,
  ) {
    this.#clock = clock;
    this.server = server;
    this.#proxy = proxy;
    const name = servername ?? (isIP(server.host) === 0 ? server.host : '');
    this.#material = material;
    this.#options = { rejectUnauthorized, servername: name };
    if (servername === undefined) this.#options.host = server.host;
  }

  /**
   * @param protocols what to offer, the preferred first
   * @throws what the socket failed with; KubeError of the proxy; the signal's reason
   */
  async dial(protocols: readonly string[], signal?: AbortSignal): Promise<TLSSocket> {
    const { authority } = this.server;
    return await withDialDeadline(this.#clock, authority, (linked) => this.#dial(protocols, linked), signal);
  }

  /** One context for each set of authorities, in the order to try them. */
  #secureContexts(): readonly SecureContext[] {
    const { ca, cert, key } = this.#material;
    const verifies = this.#options.rejectUnauthorized === true;
    const sets = ca === undefined ? [verifies ? systemAuthorities() : undefined] : verifies ? trustSets(ca) : [ca];
    return sets.map((set) =>
      // A bundle may hold an intermediate authority without its root: Go trusts what is in the bundle.
      createSecureContext({ ca: set, cert, key, minVersion: 'TLSv1.2', allowPartialTrustChain: true }),
    );
  }

  async #dial(protocols: readonly string[], signal: AbortSignal): Promise<TLSSocket> {
    this.#contexts ??= this.#secureContexts();
    const order = [...this.#contexts.keys()].sort(
      (a, b) => Number(b === this.#preferred) - Number(a === this.#preferred),
    );
    let failure: unknown;
    for (const index of order) {
      try {
        const socket = await this.#handshake(this.#contexts[index], protocols, signal);
        this.#preferred = index;
        return socket;
      } catch (error) {
        if (!(error instanceof Unverified)) throw error;
        // The authority that has signed says best what is wrong with what it has signed.
        if (failure === undefined || isBadSignature(failure)) failure = error.cause;
      }
    }
    throw failure;
  }

  async #handshake(
    secureContext: SecureContext | undefined,
    protocols: readonly string[],
    signal: AbortSignal,
  ): Promise<TLSSocket> {
    const { host, port, authority } = this.server;
    const tunnel = this.#proxy === undefined ? undefined : await openTunnel(this.#proxy, { host, port }, signal);
    const target = tunnel === undefined ? { host, port } : { socket: tunnel };
    const socket = connect({ ...this.#options, ...target, secureContext, ALPNProtocols: [...protocols] });
    const onAbort = (): void => void socket.destroy(toError(signal.reason));
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      await new Promise<void>((resolve, reject) => {
        const closed = (): void =>
          reject(systemErrorOf('ECONNRESET', `connect to ${authority}: closed in the handshake`));
        socket
          .once('secureConnect', () => {
            socket.off('error', reject).off('close', closed);
            resolve();
          })
          .once('error', reject)
          .once('close', closed);
      });
    } catch (error) {
      tunnel?.destroy();
      throw socket.authorizationError && !signal.aborted && !isWrongName(error) ? new Unverified(error) : error;
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
    if (this.#options.rejectUnauthorized && !issuersAreAuthorities(socket.getPeerCertificate(true))) {
      socket.destroy();
      throw new Unverified(
        systemErrorOf('INVALID_CA', `${authority}: an issuer of its certificate is not an authority`),
      );
    }
    (tunnel ?? socket).setKeepAlive(true, KEEP_ALIVE_MS);
    return socket;
  }
}

/** The server's certificate was not verified by one set of authorities; `cause` says why. */
class Unverified extends Error {
  constructor(cause: unknown) {
    super('the server is not verified', { cause });
  }
}

function isBadSignature(error: unknown): boolean {
  return codeOf(error) === 'CERT_SIGNATURE_FAILURE';
}

/** The name is compared after a chain was found: other authorities do not change it. */
function isWrongName(error: unknown): boolean {
  return codeOf(error) === 'ERR_TLS_CERT_ALTNAME_INVALID';
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}
