import { once } from 'node:events';
import { connect as connectTcp, type NetConnectOpts, type Socket } from 'node:net';
import { type ConnectionOptions, connect as connectTls, type TLSSocket } from 'node:tls';

/** Opens connections to the victim and keeps them, so that they can be closed together. */
export class Connections {
  readonly #open = new Set<Socket>();

  get size(): number {
    return this.#open.size;
  }

  /**
   * Opens a TCP or Unix connection that stays half-open when the other end closes.
   * @throws the system's error
   */
  async connect(options: NetConnectOpts): Promise<Socket> {
    const socket = this.#follow(connectTcp({ ...options, allowHalfOpen: true }));
    await once(socket, 'connect');
    return socket;
  }

  /**
   * Opens a TLS connection.
   * @throws the TLS error
   */
  async connectTls(port: number, options: ConnectionOptions = {}): Promise<TLSSocket> {
    const tcp = await this.connect({ host: '127.0.0.1', port });
    // Node.js supports this option, but its types do not declare it.
    const halfOpen: object = { allowHalfOpen: true };
    const tls = connectTls({ socket: tcp, rejectUnauthorized: false, ...halfOpen, ...options });
    this.#follow(tls);
    tls.once('close', () => tcp.destroy());
    await once(tls, 'secureConnect');
    return tls;
  }

  /**
   * Sends bytes over a TLS connection with HTTP/1.1.
   * @returns all bytes received until the connection ends or `waitMs` have passed
   */
  async exchange(port: number, bytes: string | Buffer, waitMs = 2000): Promise<string> {
    const tls = await this.connectTls(port, { ALPNProtocols: ['http/1.1'] });
    tls.write(bytes);
    return await received(tls, waitMs);
  }

  async close(): Promise<void> {
    const closing = [...this.#open].map(async (socket) => {
      if (socket.closed) return;
      const closed = once(socket, 'close').catch(() => {});
      socket.destroy();
      await closed;
    });
    await Promise.all(closing);
  }

  #follow<T extends Socket>(socket: T): T {
    this.#open.add(socket);
    // Errors are ignored. The `end` and `close` events show whether the victim closed the connection.
    socket.on('error', () => {});
    socket.once('close', () => this.#open.delete(socket));
    return socket;
  }
}

/** Returns the data received until the other end closes or `waitMs` have passed. */
export async function received(socket: Socket, waitMs = 2000): Promise<string> {
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  await within(ended(socket), waitMs);
  return Buffer.concat(chunks).toString('latin1');
}

/** Resolves when the other end has closed its side. */
export function ended(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    if (socket.closed || socket.readableEnded) resolve();
    for (const event of ['end', 'close'] as const) socket.once(event, () => resolve());
    socket.resume();
  });
}

/** Waits for a promise, but at most `ms` milliseconds. */
export async function within(something: Promise<unknown>, ms: number): Promise<void> {
  const { promise: late, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  await Promise.race([something, late]);
  clearTimeout(timer);
}

export function delay(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Writes bytes. Resolves when the operating system has accepted the bytes or the connection has closed. */
export function written(socket: Socket, bytes: Uint8Array): Promise<void> {
  return new Promise((resolve) => {
    if (!socket.writable) {
      resolve();
      return;
    }
    const done = (): void => {
      socket.off('close', done);
      resolve();
    };
    socket.once('close', done);
    socket.write(bytes, done);
  });
}

/** Returns the status code of an HTTP/1.1 response, or 0 if there is none. */
export function statusOf(answer: string): number {
  return Number(/^HTTP\/1\.1 (\d{3}) /.exec(answer)?.[1] ?? 0);
}
