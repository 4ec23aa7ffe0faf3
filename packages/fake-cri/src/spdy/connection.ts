import type { Duplex } from 'node:stream';
import { controlFrame, dataFrames, FIN, FrameReader, frameTypes, resets, type SpdyFrame, words } from './frames.ts';
import { HeaderPacker, HeaderUnpacker, type SpdyHeaders } from './header-block.ts';
import { SpdyError } from './spdy-error.ts';
import { SpdyStream } from './stream.ts';

/** What happens to streams that the other end opens; none are taken where absent. */
export interface SpdyConnectionOptions {
  /** Which end it is: a client's streams have odd numbers. */
  readonly role: 'client' | 'server';
  /** A stream of the other end; `false` resets it. It is answered after this returns. */
  readonly onStream?: (stream: SpdyStream) => boolean;
  /** What of the connection has come already. */
  readonly head?: Buffer;
}

/**
 * A connection of SPDY/3.1 as Kubernetes speaks it (`github.com/moby/spdystream`): streams with headers, half-closing and
 * resets, pings, a farewell; no windows, so that a stream which nobody reads holds up the others.
 */
export class SpdyConnection {
  readonly #socket: Duplex;
  readonly #options: SpdyConnectionOptions;
  readonly #streams = new Map<number, SpdyStream>();
  readonly #replies = new Map<number, PromiseWithResolvers<SpdyStream>>();
  readonly #packer = new HeaderPacker();
  readonly #unpacker = new HeaderUnpacker();
  readonly #closed = Promise.withResolvers<void>();
  #nextId: number;
  #newestHeard = 0;
  #isLeaving = false;
  #isClosed = false;
  #failure: Error | undefined;

  constructor(socket: Duplex, options: SpdyConnectionOptions) {
    this.#socket = socket;
    this.#options = options;
    this.#nextId = options.role === 'client' ? 1 : 2;
    socket.on('error', () => {});
    // What has come is handed on all the same, and waits for nobody.
    socket.on('close', () => {
      this.#isClosed = true;
      for (const stream of this.#streams.values()) stream.hurry();
    });
    void this.#listen(options.head);
  }

  /** Resolves when nothing can be heard or said any more. */
  get closed(): Promise<void> {
    return this.#closed.promise;
  }

  /** Why the connection was given up, where what came was no SPDY. */
  get failure(): Error | undefined {
    return this.#failure;
  }

  /** Opens a stream. @throws SpdyError where the other end resets it or the connection ends before it is answered */
  open(headers: SpdyHeaders): Promise<SpdyStream> {
    const id = this.#nextId;
    this.#nextId += 2;
    const stream = this.#stream(id, headers);
    const reply = Promise.withResolvers<SpdyStream>();
    reply.promise.catch(() => {});
    if (this.#socket.destroyed || this.#isLeaving) {
      stream.hearReset();
      reply.reject(new SpdyError('the connection is closed'));
      return reply.promise;
    }
    this.#replies.set(id, reply);
    this.#send(controlFrame(frameTypes.synStream, 0, words(id, 0), Buffer.of(0, 0), this.#packer.pack(headers)));
    return reply.promise;
  }

  /** Says farewell, and ends what was not ended; the socket is closed when the other end has closed its own. */
  close(): void {
    if (this.#isLeaving) return;
    this.#isLeaving = true;
    for (const stream of [...this.#streams.values()]) stream.destroy();
    this.#send(controlFrame(frameTypes.goAway, 0, words(this.#newestHeard, 0)));
    this.#socket.end();
  }

  /** Breaks off. */
  destroy(): void {
    this.#isLeaving = true;
    this.#socket.destroy();
  }

  async #listen(head: Buffer | undefined): Promise<void> {
    const reader = new FrameReader();
    try {
      if (head !== undefined) for (const frame of reader.read(head)) await this.#hear(frame);
      for await (const chunk of this.#socket.iterator({ destroyOnReturn: false })) {
        for (const frame of reader.read(chunk)) await this.#hear(frame);
      }
      this.#socket.end();
    } catch (error) {
      if (error instanceof SpdyError) this.#failure = error;
      this.#socket.destroy();
    }
    this.#over();
  }

  async #hear(frame: SpdyFrame): Promise<void> {
    if (frame.kind === 'data') {
      const stream = this.#streams.get(frame.streamId);
      await stream?.hear(frame.payload);
      if ((frame.flags & FIN) !== 0) stream?.hearEnd();
      return;
    }
    const { type, flags, payload } = frame;
    switch (type) {
      case frameTypes.synStream:
        await this.#hearStream(payload, flags);
        return;
      case frameTypes.synReply: {
        const id = streamIdOf(payload);
        // Each block goes on where the one before it ended: it is read whoever asks for it.
        await this.#unpacker.unpack(payload.subarray(4));
        const stream = this.#streams.get(id);
        if (stream !== undefined) this.#replies.get(id)?.resolve(stream);
        this.#replies.delete(id);
        if ((flags & FIN) !== 0) stream?.hearEnd();
        return;
      }
      case frameTypes.rstStream: {
        const id = streamIdOf(payload);
        this.#replies.get(id)?.reject(new SpdyError('the stream was reset'));
        this.#replies.delete(id);
        const stream = this.#streams.get(id);
        this.#streams.delete(id);
        stream?.hearReset();
        return;
      }
      case frameTypes.ping: {
        const isMine = streamIdOf(payload) % 2 === this.#nextId % 2;
        if (!isMine) this.#send(controlFrame(frameTypes.ping, 0, payload));
        return;
      }
      case frameTypes.goAway:
        this.#isLeaving = true;
        return;
      default:
      // Settings, windows and headers that come later are not acted on, as by spdystream.
    }
  }

  async #hearStream(payload: Buffer, flags: number): Promise<void> {
    const id = streamIdOf(payload);
    const headers = await this.#unpacker.unpack(payload.subarray(10));
    const isTheirs = id % 2 !== this.#nextId % 2 && id > this.#newestHeard;
    if (!isTheirs || this.#isLeaving) {
      this.#send(controlFrame(frameTypes.rstStream, 0, words(id, resets.protocolError)));
      return;
    }
    this.#newestHeard = id;
    const stream = this.#stream(id, headers);
    if ((flags & FIN) !== 0) stream.hearEnd();
    if (this.#options.onStream?.(stream) !== true) {
      stream.destroy();
      return;
    }
    this.#send(controlFrame(frameTypes.synReply, 0, words(id), this.#packer.pack({})));
  }

  #stream(id: number, headers: SpdyHeaders): SpdyStream {
    const stream = new SpdyStream(id, headers, {
      say: (data, isLast, done) => this.#say(dataFrames(id, data, isLast ? FIN : 0), done),
      reset: () => this.#send(controlFrame(frameTypes.rstStream, 0, words(id, resets.cancel))),
      forget: () => this.#streams.delete(id),
    });
    this.#streams.set(id, stream);
    if (this.#isClosed) stream.hurry();
    return stream;
  }

  #send(frame: Buffer): void {
    if (this.#socket.writable) this.#socket.write(frame);
  }

  #say(frame: Buffer, done: (error?: Error | null) => void): void {
    if (this.#socket.writable) this.#socket.write(frame, done);
    else done(new SpdyError('the connection is closed'));
  }

  #over(): void {
    this.#isLeaving = true;
    this.#unpacker.close();
    for (const stream of [...this.#streams.values()]) stream.hearReset();
    this.#streams.clear();
    for (const reply of this.#replies.values()) reply.reject(new SpdyError('the connection is closed'));
    this.#replies.clear();
    this.#closed.resolve();
  }
}

function streamIdOf(payload: Buffer): number {
  if (payload.length < 4) throw new SpdyError('a frame is too short');
  return payload.readUInt32BE() & 0x7fffffff;
}
