import { rm } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';

/**
 * Connects each client of a unix socket with a client of a TCP port. Upstream's mock suite runs its driver in the test
 * program: the test connects to the TCP port through the API server, once for each client of the socket.
 */
export class ProxyServer {
  readonly #socketPath: string;
  readonly #host: string;
  readonly #port: number;
  readonly #waiting: { readonly local: Socket[]; readonly remote: Socket[] } = { local: [], remote: [] };
  readonly #servers: Server[] = [];
  readonly #sockets = new Set<Socket>();

  constructor({
    socketPath,
    host,
    port,
  }: { readonly socketPath: string; readonly host: string; readonly port: number }) {
    this.#socketPath = socketPath;
    this.#host = host;
    this.#port = port;
  }

  /** Listens on both endpoints. @throws Error if one of the endpoints is in use */
  async start(): Promise<void> {
    await rm(this.#socketPath, { force: true });
    await this.#listen('local', { path: this.#socketPath });
    await this.#listen('remote', { host: this.#host, port: this.#port });
  }

  /** Closes both endpoints and all connections. */
  stop(): void {
    for (const server of this.#servers) server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  async #listen(side: 'local' | 'remote', address: { path: string } | { host: string; port: number }): Promise<void> {
    const server = createServer((socket) => this.#accept(side, socket));
    this.#servers.push(server);
    await new Promise<void>((resolve, reject) => {
      server.on('error', reject);
      server.listen(address, resolve);
    });
  }

  #accept(side: 'local' | 'remote', socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('error', () => socket.destroy());
    socket.on('close', () => this.#forget(side, socket));
    const peer = this.#waiting[side === 'local' ? 'remote' : 'local'].shift();
    if (peer === undefined) {
      this.#waiting[side].push(socket);
      socket.on('readable', endIfEmpty);
      return;
    }
    peer.off('readable', endIfEmpty);
    socket.pipe(peer).pipe(socket);
    socket.on('close', () => peer.destroy());
    peer.on('close', () => socket.destroy());
  }

  #forget(side: 'local' | 'remote', socket: Socket): void {
    this.#sockets.delete(socket);
    const index = this.#waiting[side].indexOf(socket);
    if (index >= 0) this.#waiting[side].splice(index, 1);
  }
}

/**
 * Reads from the socket of a waiting client while no data is buffered, because the end of an unread socket is not
 * noticed otherwise.
 */
function endIfEmpty(this: Socket): void {
  if (this.readableLength === 0) this.read();
}
