import type { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';
import type { CommandStatus } from './command-status.ts';
import type { RemoteCommandOptions } from './stream-options.ts';
import { TerminalSizes } from './terminal-sizes.ts';

/** A message begins with its channel's number; `close` says which of the client's is over. */
const channels = { stdin: 0, stdout: 1, stderr: 2, error: 3, resize: 4, close: 255 } as const;
const COUNT = 5;

/** What a client of `v5.channel.k8s.io` says. */
export interface CommandListener {
  /** @returns whether more is wanted now */
  input(data: Buffer): boolean;
  inputEnd(): void;
  /** A terminal's size, as a runtime reads it. */
  resize(size: string): void;
  /** The client has gone, or said what is not of the protocol. */
  gone(): void;
}

/**
 * The channels of an exec or attach over one WebSocket, by `v5.channel.k8s.io` (`createWebSocketStreams`,
 * `k8s.io/apiserver/pkg/util/proxy/websocket.go`). Before somebody listens no more is heard than comes with the first message, and
 * nothing while nothing is wanted.
 */
export class CommandChannels {
  readonly #socket: WebSocket;
  readonly #connection: Duplex;
  readonly #asked: RemoteCommandOptions;
  readonly #sizes = new TerminalSizes();
  readonly #closed = Promise.withResolvers<void>();
  /** What has come before anybody listened. */
  #early: Buffer[] = [];
  #listener: CommandListener | undefined;
  #isClosed = false;
  #hasEnded = false;
  #isCorked = false;

  /** @param connection that carries the WebSocket */
  constructor(socket: WebSocket, connection: Duplex, asked: RemoteCommandOptions) {
    this.#socket = socket;
    this.#connection = connection;
    this.#asked = asked;
    socket.on('message', (data: Buffer) => this.#hear(data));
    socket.on('close', () => this.#leave());
    // An empty message tells the client that the connection is there.
    this.#say(asked.stdout ? channels.stdout : asked.stderr ? channels.stderr : channels.error, Buffer.alloc(0));
  }

  /** Resolves when nobody hears anything any more. */
  get closed(): Promise<void> {
    return this.#closed.promise;
  }

  /** Whether the client has gone, though what it said before may still be heard. */
  get isGone(): boolean {
    return this.#isClosed || this.#connection.destroyed;
  }

  listen(listener: CommandListener): void {
    this.#listener = listener;
    // A message may have it that nothing more is wanted.
    this.wantMore();
    for (const data of this.#early.splice(0)) this.#hear(data);
    if (this.#isClosed) listener.gone();
  }

  /** After a listener has said that it wants nothing: more is wanted again. */
  wantMore(): void {
    if (this.#socket.isPaused) this.#socket.resume();
  }

  /** @returns whether more can be said now; if not, `onDrain` is called when it can */
  say(channel: 'stdout' | 'stderr', data: Uint8Array, onDrain: () => void): boolean {
    if (this.#socket.readyState !== this.#socket.OPEN) return true;
    // By the library, each message would be copied once, and written by itself.
    this.#cork();
    this.#connection.write(messageHead(channels[channel], data.length));
    this.#connection.write(data);
    if (!this.#connection.writableNeedDrain) return true;
    this.#connection.once('drain', onDrain);
    return false;
  }

  /** Says how it ended, and ends when the client has taken that: it has no other time than its connection's. */
  end(status: CommandStatus): void {
    this.#hasEnded = true;
    this.wantMore();
    this.#say(channels.error, Buffer.from(JSON.stringify(status)), () => this.close(1000));
  }

  /** Says farewell: 1001 where it is this side that ends. */
  close(code: 1000 | 1001 | 1002): void {
    this.#hasEnded = true;
    this.#socket.close(code);
    // The answer to that is listened for, and nothing else is.
    this.wantMore();
  }

  /** Asks a client that is not listened to whether it is there: that it has gone is heard of by nothing else. */
  probe(): void {
    if (this.#socket.isPaused && this.#socket.readyState === this.#socket.OPEN) this.#socket.ping();
  }

  /** Breaks off. */
  destroy(): void {
    if (this.#socket.readyState !== this.#socket.CLOSED) this.#socket.terminate();
  }

  /** What is said in one turn is written at once. */
  #cork(): void {
    if (this.#isCorked) return;
    this.#isCorked = true;
    this.#connection.cork();
    process.nextTick(() => {
      this.#isCorked = false;
      this.#connection.uncork();
    });
  }

  #say(channel: number, data: Uint8Array, done: () => void = () => {}): void {
    if (this.#socket.readyState !== this.#socket.OPEN) return;
    this.#socket.send(Buffer.concat([Buffer.of(channel), data]), { binary: true }, done);
  }

  #hear(data: Buffer): void {
    const [channel] = data;
    const listener = this.#listener;
    if (channel === undefined || this.#hasEnded) return;
    if (listener === undefined) {
      // That a client goes which says nothing is heard of: to stop listening at once would be to miss it.
      this.#early.push(data);
      this.#socket.pause();
      return;
    }
    const payload = data.subarray(1);
    if (channel === channels.close) {
      const over = payload[0] ?? COUNT;
      // Upstream breaks off too.
      if (payload.length !== 1 || over >= COUNT) this.close(1002);
      else if (over === channels.stdin && this.#asked.stdin) listener.inputEnd();
      return;
    }
    let isMoreWanted = true;
    if (channel === channels.stdin && this.#asked.stdin && payload.length > 0) isMoreWanted = listener.input(payload);
    else if (channel === channels.resize && this.#asked.tty) {
      const size = this.#sizes.read(payload);
      if (size !== undefined) listener.resize(size);
    }
    if (!isMoreWanted) this.#socket.pause();
  }

  #leave(): void {
    this.#isClosed = true;
    this.#closed.resolve();
    this.#listener?.gone();
  }
}

/** What stands before the bytes that a channel says: the head of a whole binary message of a server (RFC 6455, 5.2), and the channel. */
function messageHead(channel: number, bytes: number): Buffer {
  const length = bytes + 1;
  const lengthBytes = length < 126 ? 0 : length < 65_536 ? 2 : 8;
  const head = Buffer.allocUnsafe(3 + lengthBytes);
  head[0] = 0x82;
  head[1] = lengthBytes === 0 ? length : lengthBytes === 2 ? 126 : 127;
  if (lengthBytes === 2) head.writeUInt16BE(length, 2);
  if (lengthBytes === 8) head.writeBigUInt64BE(BigInt(length), 2);
  head[2 + lengthBytes] = channel;
  return head;
}
