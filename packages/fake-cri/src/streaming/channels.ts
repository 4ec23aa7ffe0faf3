import { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';
import { channels as numbers } from './protocols.ts';

/**
 * Multiplexes channels over one WebSocket. Each message starts with the number of its channel
 * (`k8s.io/streaming/pkg/httpstream/wsstream`).
 */
export class Channels {
  readonly #socket: WebSocket;
  readonly #isBase64: boolean;
  readonly #closesChannels: boolean;
  readonly #channels = new Map<number, Channel>();

  /** Creates the channels of a WebSocket. @param count number of channels; messages for other channels are dropped */
  constructor(socket: WebSocket, protocol: string, count: number) {
    this.#socket = socket;
    this.#isBase64 = protocol.includes('base64.');
    this.#closesChannels = protocol.startsWith('v5.');
    for (let number = 0; number < count; number++) {
      const say = (data: Uint8Array, done: (error?: Error | null) => void): void => this.say(number, data, done);
      this.#channels.set(number, new Channel(say, this.#flow(number)));
    }
    socket.on('error', () => {});
    socket.on('message', (data: Buffer) => this.#hear(data));
    socket.on('close', () => {
      for (const channel of this.#channels.values()) channel.hearBreak();
    });
  }

  /** Returns the stream of a channel. @throws RangeError if the channel does not exist */
  channel(number: number): Duplex {
    const channel = this.#channels.get(number);
    if (channel === undefined) throw new RangeError(`no channel ${number}`);
    return channel;
  }

  /** Sends a message on a channel. */
  say(number: number, data: Uint8Array, done: (error?: Error | null) => void): void {
    if (this.#socket.readyState !== this.#socket.OPEN) done(new Error('the WebSocket is closed'));
    else if (this.#isBase64) this.#socket.send(`${number}${Buffer.from(data).toString('base64')}`, done);
    else this.#socket.send(Buffer.concat([Buffer.of(number), data]), { binary: true }, done);
  }

  #flow(number: number): Flow {
    return {
      pause: () => this.#socket.pause(),
      resume: () => {
        if (this.#socket.isPaused) this.#socket.resume();
      },
      ended: (done) => {
        if (this.#closesChannels) this.say(numbers.close, Buffer.of(number), done);
        else done();
      },
    };
  }

  #hear(data: Buffer): void {
    const [first = 0] = data;
    if (data.length === 0) return;
    if (this.#closesChannels && first === numbers.close) {
      const channel = data.length === 2 ? this.#channels.get(data[1] ?? -1) : undefined;
      if (channel === undefined) this.#socket.close(1002);
      else channel.hearEnd();
      return;
    }
    const channel = this.#channels.get(this.#isBase64 ? first - 0x30 : first);
    const rest = data.subarray(1);
    channel?.hear(this.#isBase64 ? Buffer.from(rest.toString('latin1'), 'base64') : rest);
  }
}

interface Flow {
  pause(): void;
  resume(): void;
  ended(done: (error?: Error | null) => void): void;
}

class Channel extends Duplex {
  readonly #say: (data: Uint8Array, done: (error?: Error | null) => void) => void;
  readonly #flow: Flow;
  #hasHeardEnd = false;

  constructor(say: (data: Uint8Array, done: (error?: Error | null) => void) => void, flow: Flow) {
    super({ allowHalfOpen: true });
    this.#say = say;
    this.#flow = flow;
    this.on('error', () => {});
  }

  hear(data: Buffer): void {
    if (this.destroyed || this.#hasHeardEnd || data.length === 0) return;
    if (!this.push(data)) this.#flow.pause();
  }

  hearEnd(): void {
    if (this.destroyed || this.#hasHeardEnd) return;
    this.#hasHeardEnd = true;
    this.push(null);
  }

  /** Handles the loss of the connection. Data that was received before the loss can still be read. */
  hearBreak(): void {
    if (this.readableEnded) this.destroy();
    else {
      this.hearEnd();
      this.once('end', () => this.destroy());
    }
  }

  override _read(): void {
    this.#flow.resume();
  }

  override _write(chunk: Uint8Array, _encoding: string, done: (error?: Error | null) => void): void {
    this.#say(chunk, done);
  }

  override _final(done: (error?: Error | null) => void): void {
    this.#flow.ended(() => done());
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#flow.resume();
    done(error);
  }
}
