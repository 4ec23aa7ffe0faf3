import { isIP } from 'node:net';
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls';
import type { Clock } from '@node-agent/async';
import type { ServerAddress } from './connection-pool.ts';
import type { TlsMaterial } from './credentials.ts';
import { systemErrorOf } from './system-errors.ts';
import { openTunnel } from './tunnel.ts';

/** How the server's certificate is looked at. */
export interface ServerTls {
  /** The name that it must have; the host's where absent. */
  readonly servername: string | undefined;
  readonly rejectUnauthorized: boolean;
}

/** Connecting and the handshake may take so long together, in milliseconds (client-go's dialer). */
const DIAL_TIMEOUT_MS = 30_000;

/** After so much silence the kernel probes a connection, and finds a peer that vanished 10 s later. */
const KEEP_ALIVE_MS = 30_000;

/** Makes TLS connections to one server, through its proxy if it has one. */
export class TlsDialer {
  readonly server: ServerAddress;
  readonly #clock: Pick<Clock, 'setTimer'>;
  readonly #options: ConnectionOptions;
  readonly #proxy: URL | undefined;

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
    this.#options = { ca, cert, key, rejectUnauthorized, minVersion: 'TLSv1.2', servername: name };
    if (servername === undefined) this.#options.host = server.host;
  }

  /** @param protocols what to offer, the preferred first @throws what the socket failed with; KubeError of the proxy */
  async dial(protocols: readonly string[]): Promise<TLSSocket> {
    const { host, port } = this.server;
    const tunnel = this.#proxy === undefined ? undefined : await openTunnel(this.#proxy, { host, port });
    const target = tunnel === undefined ? { host, port } : { socket: tunnel };
    const socket = connect({ ...this.#options, ...target, ALPNProtocols: [...protocols] });
    const timer = this.#clock.setTimer(DIAL_TIMEOUT_MS, () => {
      socket.destroy(
        systemErrorOf('ETIMEDOUT', `connect to ${this.server.authority}: no answer within ${DIAL_TIMEOUT_MS} ms`),
      );
    });
    try {
      await new Promise<void>((resolve, reject) => {
        socket.once('secureConnect', resolve).once('error', reject);
      });
    } finally {
      timer.cancel();
    }
    (tunnel ?? socket).setKeepAlive(true, KEEP_ALIVE_MS);
    return socket;
  }
}
