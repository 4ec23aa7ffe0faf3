import { isIP } from 'node:net';
import { type ConnectionOptions, connect, createSecureContext, type TLSSocket } from 'node:tls';
import type { Clock } from '@node-agent/async';
import type { ServerAddress } from './connection-pool.ts';
import type { TlsMaterial } from './credentials.ts';
import { withDialDeadline } from './dial-deadline.ts';
import { systemAuthorities } from './system-authorities.ts';
import { systemErrorOf, toError } from './system-errors.ts';
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
  readonly #proxy: URL | undefined;
  readonly #trustsSystem: boolean;

  constructor(
    clock: Pick<Clock, 'setTimer'>,
    server: ServerAddress,
    { ca, cert, key }: TlsMaterial,
    { servername, rejectUnauthorized }: ServerTls,
    proxy: URL | undefined,
  ) {
    this.#clock = clock;
    this.server = server;
    this.#proxy = proxy;
    const name = servername ?? (isIP(server.host) === 0 ? server.host : '');
    const own = { ca, cert, key, minVersion: 'TLSv1.2' } as const;
    this.#options = { ...own, rejectUnauthorized, servername: name };
    if (servername === undefined) this.#options.host = server.host;
    this.#trustsSystem = ca === undefined && rejectUnauthorized;
  }

  /**
   * @param protocols what to offer, the preferred first
   * @throws what the socket failed with; KubeError of the proxy; the signal's reason
   */
  async dial(protocols: readonly string[], signal?: AbortSignal): Promise<TLSSocket> {
    const { authority } = this.server;
    return await withDialDeadline(this.#clock, authority, (linked) => this.#dial(protocols, linked), signal);
  }

  /** They are many: they are read once, and when they are needed. */
  #trustSystem(): void {
    if (!this.#trustsSystem || this.#options.secureContext !== undefined) return;
    const { cert, key, minVersion } = this.#options;
    this.#options.secureContext = createSecureContext({ ca: systemAuthorities(), cert, key, minVersion });
  }

  async #dial(protocols: readonly string[], signal: AbortSignal): Promise<TLSSocket> {
    const { host, port, authority } = this.server;
    const tunnel = this.#proxy === undefined ? undefined : await openTunnel(this.#proxy, { host, port }, signal);
    const target = tunnel === undefined ? { host, port } : { socket: tunnel };
    this.#trustSystem();
    const socket = connect({ ...this.#options, ...target, ALPNProtocols: [...protocols] });
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
      throw error;
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
    (tunnel ?? socket).setKeepAlive(true, KEEP_ALIVE_MS);
    return socket;
  }
}
