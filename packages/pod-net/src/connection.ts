import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { type DialComponents, type DialTarget, dial } from './dial.ts';
import { goWords } from './go-words.ts';
import { endsOf, ignore, ResettingSocket, readingSocket } from './socket.ts';
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
export class Connection {
  readonly #calledOff: () => void;
  #socket: Socket | undefined;
  #stream: Duplex | undefined;

  constructor(target: ConnectionTarget, components: Pick<DialComponents, 'clock' | 'names'>, events: ConnectionEvents) {
    const { host, port, tls } = target;
    let ends = '';
    const onError = (error: Error): void => events.onEnd(goWords(error, { host, port, ends }));
    const newSocket = (): Socket => (tls ? new ResettingSocket() : readingSocket(events.onBytes));
    this.#calledOff = dial(target, { ...components, newSocket }, (socket) => {
      if (socket instanceof Error) return onError(socket);
      this.#socket = socket;
      ends = endsOf(socket);
      socket.on('error', onError);
      const onEnd = (): void => events.onEnd();
      if (!tls) {
        this.#stream = socket.on('end', onEnd);
        events.onOpen(socket, 'http/1.1');
        return;
      }
      const protocols = target.http2 ? ['h2', 'http/1.1'] : [];
      const stream = tlsOver(socket, host, protocols, events.onEnd);
      this.#stream = stream.on('error', onError).on('secureConnect', () => {
        if (stream.alpnProtocol === 'h2') return events.onOpen(stream, 'h2');
        stream.on('data', events.onBytes).on('end', onEnd);
        events.onOpen(stream, 'http/1.1');
      });
    });
  }

  /** What errors come then are nobody's. */
  reset(): void {
    this.#calledOff();
    for (const open of [this.#stream, this.#socket]) open?.on('error', ignore).destroy();
  }
}
