import { isIP, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import { type DialComponents, type DialTarget, dial } from './dial.ts';
import { goWords } from './go-words.ts';
import { PlainSocket, type SocketUser } from './plain-socket.ts';
import { address, endsOf, farEnd, ResettingSocket } from './socket.ts';
import { tlsOver } from './tls-stream.ts';

/** Where to connect to, and what to speak there. */
export interface ConnectionTarget extends DialTarget {
  readonly tls: boolean;
  /** Whether a server of TLS is offered HTTP/2. */
  readonly http2: boolean;
}

/** What comes of a connection. */
export interface ConnectionEvents {
  /** It can be written to. HTTP/2 is read by whoever is given the stream; everything else comes by the other events. */
  onOpen(stream: Duplex, protocol: 'http/1.1' | 'h2'): void;
  /** In a buffer that others may share: nothing of it may be held. */
  onBytes(bytes: Buffer): void;
  /** No more comes; `words` are Go's for what broke it. */
  onEnd(words?: string): void;
}

/** A connection of its own for one request; it ends by a reset (R3). */
export class Connection implements SocketUser {
  readonly #target: ConnectionTarget;
  readonly #events: ConnectionEvents;
  /** Of a name, what calls the search for an address off that answers. */
  readonly #calledOff: (() => void) | undefined;
  #socket: Socket | undefined;
  #tls: TLSSocket | undefined;
  #isOpen = false;
  /** Its other end, where that is written in many ways. */
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

  /** What errors come then are told, and nobody's. */
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
