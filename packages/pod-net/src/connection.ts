import { isIP, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import { type DialComponents, type DialTarget, dial } from './dial.ts';
import { goWords } from './go-words.ts';
import { endsOf, ResettingSocket, readingSocket } from './socket.ts';
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
  readonly onOpen: (stream: Duplex, protocol: 'http/1.1' | 'h2') => void;
  /** In a buffer that others may share: nothing of it may be held. */
  readonly onBytes: (bytes: Buffer) => void;
  /** No more comes; `words` are Go's for what broke it. */
  readonly onEnd: (words?: string) => void;
}

/** A connection of its own for one request; it ends by a reset (R3). */
export class Connection {
  readonly #target: ConnectionTarget;
  readonly #events: ConnectionEvents;
  /** Of a name, what calls the search for an address off that answers. */
  readonly #calledOff: (() => void) | undefined;
  #socket: Socket | undefined;
  #tls: TLSSocket | undefined;
  #ends = (): string => '';

  constructor(target: ConnectionTarget, components: Pick<DialComponents, 'clock' | 'names'>, events: ConnectionEvents) {
    this.#target = target;
    this.#events = events;
    const { host, port, tls } = target;
    const newSocket = (): Socket => (tls ? new ResettingSocket() : readingSocket(events.onBytes));
    if (isIP(host) !== 0) {
      const socket = newSocket();
      this.#socket = socket.on('error', this.#onError).on('connect', () => this.#opened(socket));
      socket.connect({ host, port });
      return;
    }
    this.#calledOff = dial(target, { ...components, newSocket }, (result) => {
      if (result instanceof Error) this.#onError(result);
      else this.#opened(result.on('error', this.#onError));
    });
  }

  /** What errors come then are told, and nobody's. */
  reset(): void {
    this.#calledOff?.();
    this.#tls?.destroy();
    this.#socket?.destroy();
  }

  readonly #onError = (error: Error): void => {
    const { host, port } = this.#target;
    this.#events.onEnd(goWords(error, { host, port, ends: this.#ends() }));
  };

  #opened(socket: Socket): void {
    this.#socket = socket;
    this.#ends = endsOf(socket, this.#target.host, this.#target.port);
    const { onBytes, onEnd, onOpen } = this.#events;
    if (!this.#target.tls) {
      socket.on('end', () => onEnd());
      onOpen(socket, 'http/1.1');
      return;
    }
    const protocols = this.#target.http2 ? ['h2', 'http/1.1'] : [];
    const stream = tlsOver(socket, this.#target.host, protocols, onEnd);
    this.#tls = stream.on('error', this.#onError).on('secureConnect', () => {
      if (stream.alpnProtocol === 'h2') return onOpen(stream, 'h2');
      stream.on('data', onBytes).on('end', () => onEnd());
      onOpen(stream, 'http/1.1');
    });
  }
}
