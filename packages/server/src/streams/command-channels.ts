import type { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';
import type { CommandStatus } from './command-status.ts';
import type { RemoteCommandOptions } from './stream-options.ts';
import { TerminalSizes } from './terminal-sizes.ts';

/**
 * The channel numbers, which are the first byte of each message. The payload of a `close` message names the channel
 * that the client ends.
 */
const channels = { stdin: 0, stdout: 1, stderr: 2, error: 3, resize: 4, close: 255 } as const;
const COUNT = 5;

/** Receives the messages of a client of `v5.channel.k8s.io`. */
export interface CommandListener {
  /** Processes input of the command. @returns whether the listener can process more input now */
  input(data: Buffer): boolean;
  inputEnd(): void;
  /** Receives the size of the client's terminal, in the format of the runtime. */
  resize(size: string): void;
  /** Called when the client has disconnected or violated the protocol. */
  gone(): void;
}

/**
 * The channels of an exec or attach over one WebSocket, protocol `v5.channel.k8s.io` (`createWebSocketStreams`,
 * `k8s.io/apiserver/pkg/util/proxy/websocket.go`). Reading from the WebSocket pauses after the first message until a
 * listener is set, and while the listener takes no input.
 */
export class CommandChannels {
  readonly #socket: WebSocket;
  readonly #connection: Duplex;
  readonly #asked: RemoteCommandOptions;
  readonly #sizes = new TerminalSizes();
  readonly #closed = Promise.withResolvers<void>();
  /** Messages received before a listener was set. */
  #early: Buffer[] = [];
  #listener: CommandListener | undefined;
  #isClosed = false;
  #hasEnded = false;
  #isCorked = false;

  /** @param connection the connection that carries the WebSocket */
  constructor(socket: WebSocket, connection: Duplex, asked: RemoteCommandOptions) {
    this.#socket = socket;
    this.#connection = connection;
    this.#asked = asked;
    socket.on('message', (data: Buffer) => this.#hear(data));
    socket.on('close', () => this.#leave());
    // An empty message tells the client that the connection is established.
    this.#say(asked.stdout ? channels.stdout : asked.stderr ? channels.stderr : channels.error, Buffer.alloc(0));
  }

  /** Resolves when the WebSocket is closed. */
  get closed(): Promise<void> {
    return this.#closed.promise;
  }

  /** Whether the client has disconnected; messages received earlier may still be delivered. */
  get isGone(): boolean {
    return this.#isClosed || this.#connection.destroyed;
  }

  listen(listener: CommandListener): void {
    this.#listener = listener;
    // Reading is resumed before the queued messages are processed, because processing one of them may pause reading
    // again.
    this.wantMore();
    for (const data of this.#early.splice(0)) this.#hear(data);
    if (this.#isClosed) listener.gone();
  }

  /** Resumes reading after a listener returned false. */
  wantMore(): void {
    if (this.#socket.isPaused) this.#socket.resume();
  }

  /** Sends output. @returns whether more can be sent now; if not, `onDrain` is called later */
  say(channel: 'stdout' | 'stderr', data: Uint8Array, onDrain: () => void): boolean {
    if (this.#socket.readyState !== this.#socket.OPEN) return true;
    // Written without the WebSocket library, which would copy each message and write it separately.
    this.#cork();
    this.#connection.write(messageHead(channels[channel], data.length));
    this.#connection.write(data);
    if (!this.#connection.writableNeedDrain) return true;
    this.#connection.once('drain', onDrain);
    return false;
  }

  /**
   * Sends the command's status, and closes the WebSocket when the client has received the status. Only the connection's
   * timeouts limit the wait.
   */
  end(status: CommandStatus): void {
    this.#hasEnded = true;
    this.wantMore();
    this.#say(channels.error, Buffer.from(JSON.stringify(status)), () => this.close(1000));
  }

  /** Closes the WebSocket with a close frame. Code 1001 says that the server is stopping. */
  close(code: 1000 | 1001 | 1002): void {
    this.#hasEnded = true;
    this.#socket.close(code);
    // Reading is resumed to receive the client's close frame; other messages are ignored.
    this.wantMore();
  }

  /** Pings a client from which reading is paused. Without a ping, its disconnection would not be noticed. */
  probe(): void {
    if (this.#socket.isPaused && this.#socket.readyState === this.#socket.OPEN) this.#socket.ping();
  }

  /** Terminates the connection without a close frame. */
  destroy(): void {
    if (this.#socket.readyState !== this.#socket.CLOSED) this.#socket.terminate();
  }

  /** Combines all writes of the current event loop turn into one. */
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
      // Reading pauses only after the first message: with reading paused from the start, the disconnection of a silent
      // client would not be noticed.
      this.#early.push(data);
      this.#socket.pause();
      return;
    }
    const payload = data.subarray(1);
    if (channel === channels.close) {
      const over = payload[0] ?? COUNT;
      // Upstream also closes the WebSocket with an error if a close message is invalid.
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

/** Returns the header of a server's complete binary message (RFC 6455, 5.2), followed by the channel number. */
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
