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

/** Options for verifying the server's certificate, besides the CA bundle. */
export interface ServerTls {
  /** The name that the certificate must have. Default: the host. */
  readonly servername: string | undefined;
  readonly rejectUnauthorized: boolean;
}

/**
 * How long a connection may be silent before the kernel probes it, in milliseconds. A peer that vanished is detected 10
 * s later.
 */
const KEEP_ALIVE_MS = 30_000;

/** Opens TLS connections to one server, through a proxy if configured. */
export class TlsDialer {
  readonly server: ServerAddress;
  readonly #clock: Pick<Clock, 'setTimer'>;
  readonly #options: ConnectionOptions;
  readonly #material: TlsMaterial;
  readonly #proxy: URL | undefined;
  /**
   * One TLS context per set of authorities. Created at the first connection, because loading the system's many
   * authorities takes time.
   */
  #contexts: readonly SecureContext[] | undefined;
  /** The index of the context that last verified the server. */
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
   * Opens a connection.
   * @param protocols the protocols to offer, the preferred one first
   * @throws the socket's error; KubeError of the proxy; the signal's reason
   */
  async dial(protocols: readonly string[], signal?: AbortSignal): Promise<TLSSocket> {
    const { authority } = this.server;
    return await withDialDeadline(this.#clock, authority, (linked) => this.#dial(protocols, linked), signal);
  }

  /** Creates one TLS context per set of authorities ({@link trustSets}), in the order in which to try them. */
  #secureContexts(): readonly SecureContext[] {
    const { ca, cert, key } = this.#material;
    const verifies = this.#options.rejectUnauthorized === true;
    const sets = ca === undefined ? [verifies ? systemAuthorities() : undefined] : verifies ? trustSets(ca) : [ca];
    return sets.map((set) =>
      // A bundle may contain an intermediate authority without its root. Go trusts every certificate of the bundle.
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
        // Reports the error of the authority that signed the certificate, which is the most useful one: a bad signature
        // means that another authority signed it.
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

/** The error of one set of authorities that did not verify the server's certificate. `cause` is the reason. */
class Unverified extends Error {
  constructor(cause: unknown) {
    super("the server's certificate was not verified", { cause });
  }
}

function isBadSignature(error: unknown): boolean {
  return codeOf(error) === 'CERT_SIGNATURE_FAILURE';
}

/**
 * Reports whether the certificate is for another host name. Names are compared after a chain was found, so other
 * authorities would not change the result.
 */
function isWrongName(error: unknown): boolean {
  return codeOf(error) === 'ERR_TLS_CERT_ALTNAME_INVALID';
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}
