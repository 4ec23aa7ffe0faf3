import { isIP, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import { type DialComponents, type DialTarget, dial } from './dial.ts';
import { goWords } from './go-words.ts';
import { PlainSocket, type SocketUser } from './plain-socket.ts';
import { address, endsOf, farEnd, ResettingSocket } from './socket.ts';
import { tlsOver } from './tls-stream.ts';

/** Target of a connection and the protocols to use. */
export interface ConnectionTarget extends DialTarget {
  readonly tls: boolean;
  /** Whether HTTP/2 is offered to a TLS server (ALPN). */
  readonly http2: boolean;
}

/** Callbacks of a {@link Connection}. */
export interface ConnectionEvents {
  /**
   * Called when the connection is ready for writing. For `h2` the callee must read from `stream` directly; for
   * `http/1.1` received bytes arrive through `onBytes`.
   */
  onOpen(stream: Duplex, protocol: 'http/1.1' | 'h2'): void;
  /**
   * Called with received bytes. The buffer is shared between connections: the callee must not keep a reference to the
   * buffer.
   */
  onBytes(bytes: Buffer): void;
  /**
   * Called when no more bytes will arrive.
   * @param words Go's text for the error that broke the connection; absent after an orderly end
   */
  onEnd(words?: string): void;
}

/** Connection for exactly one request. The connection is closed with a TCP reset (R3). */
export class Connection implements SocketUser {
  readonly #target: ConnectionTarget;
  readonly #events: ConnectionEvents;
  /** Cancels the dial of a host name. `undefined` if the host is an IP address. */
  readonly #calledOff: (() => void) | undefined;
  #socket: Socket | undefined;
  #tls: TLSSocket | undefined;
  #isOpen = false;
  /** Remote address as `host:port`. Set only if the address can be written in several ways (IPv6 or a host name). */
  #far: string | undefined;

  constructor(target: ConnectionTarget, components: Pick<DialComponents, 'clock' | 'names'>, events: ConnectionEvents) {
    this.#target = target;
    this.#events = events;
    const { host, port, tls } = target;
    const newSocket = (): Socket => (tls ? new ResettingSocket() : PlainSocket.take());
    if (isIP(host) !== 0) {
      const socket = newSocket();
      this.#use(socket);
      if (tls) socket.on('connect', () => this.onConnect());
      socket.connect({ host, port });
      return;
    }
    this.#calledOff = dial(target, { ...components, newSocket }, (result) => {
      if (result instanceof Error) return this.onError(result);
      this.#use(result);
      this.onConnect();
    });
  }

  /** Closes the connection with a reset. The caller must ignore errors that the events report after this call. */
  reset(): void {
    this.#calledOff?.();
    this.#tls?.destroy();
    this.#socket?.destroy();
  }

  onConnect(): void {
    const socket = this.#socket;
    if (socket === undefined) return;
    this.#isOpen = true;
    this.#far = farEnd(socket, this.#target.host);
    if (this.#target.tls) this.#beginTls(socket);
    else this.#events.onOpen(socket, 'http/1.1');
  }

  onBytes(bytes: Buffer): void {
    this.#events.onBytes(bytes);
  }

  onEnd(): void {
    this.#events.onEnd();
  }

  onError(error: Error): void {
    const { host, port } = this.#target;
    const ends = this.#isOpen && this.#socket ? endsOf(this.#socket, this.#far ?? address(host, port)) : '';
    this.#events.onEnd(goWords(error, { host, port, ends }));
  }

  #use(socket: Socket): void {
    this.#socket = socket;
    if (socket instanceof PlainSocket) socket.user = this;
    else socket.on('error', (error) => this.onError(error));
  }

  #beginTls(socket: Socket): void {
    const events = this.#events;
    const protocols = this.#target.http2 ? ['h2', 'http/1.1'] : [];
    const stream = tlsOver(socket, this.#target.host, protocols, (words) => events.onEnd(words));
    this.#tls = stream
      .on('error', (error) => this.onError(error))
      .on('secureConnect', () => {
        if (stream.alpnProtocol === 'h2') return events.onOpen(stream, 'h2');
        stream.on('data', (bytes) => events.onBytes(bytes)).on('end', () => events.onEnd());
        events.onOpen(stream, 'http/1.1');
      });
  }
}
