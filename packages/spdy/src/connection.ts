import type { Duplex } from 'node:stream';
import { checkNumbers } from '@node-agent/async';
import { SpdyError } from './errors.ts';
import { controlFrame, dataFrames, FIN, FrameReader, frameTypes, resets, type SpdyFrame, words } from './frames.ts';
import { HeaderPacker, HeaderUnpacker, type SpdyHeaders } from './header-block.ts';
import { ConnectionStream, type SpdyStream } from './stream.ts';

/** How one end of a connection is. */
export interface SpdyConnectionOptions {
  /** Which end it is: a client's streams have odd numbers. */
  readonly role: 'client' | 'server';
  /** Called with each stream that the other end opens; `false` resets it. It is answered after this returns. None is taken where absent. */
  readonly onStream?: (stream: SpdyStream) => boolean;
  /** How many streams of the other end there may be at once; 1000 by default. Those beyond are refused. */
  readonly maxStreams?: number;
  /** What of the connection has come already. */
  readonly head?: Buffer;
}

const MAX_STREAM_ID = 2 ** 31 - 1;

/**
 * One end of a connection of SPDY/3.1 as Kubernetes speaks it (`github.com/moby/spdystream`): streams with headers, half-closing
 * and resets, pings, a farewell; no windows, so that a stream which nobody reads holds up the others. Bytes that are no SPDY
 * end the connection, and no more of what comes is held than its streams' readers leave and the bound of one frame of control.
 */
export class SpdyConnection {
  readonly #socket: Duplex;
  readonly #options: SpdyConnectionOptions;
  readonly #maxStreams: number;
  readonly #streams = new Map<number, ConnectionStream>();
  readonly #replies = new Map<number, PromiseWithResolvers<SpdyStream>>();
  readonly #packer = new HeaderPacker();
  readonly #unpacker = new HeaderUnpacker();
  readonly #closed = Promise.withResolvers<void>();
  #nextId: number;
  #newestHeard = 0;
  #hasHeardControl = false;
  /** How many of the streams are the other end's. */
  #theirs = 0;
  #nextPing: number;
  #isPinging = false;
  /** Whether no stream is opened any more. */
  #isLeaving = false;
  #hasSaidFarewell = false;
  #isClosed = false;
  #failure: SpdyError | undefined;

  constructor(socket: Duplex, options: SpdyConnectionOptions) {
    this.#socket = socket;
    this.#options = options;
    const { maxStreams = 1000 } = options;
    checkNumbers({ maxStreams }, { maxStreams: 'limit' });
    this.#maxStreams = maxStreams;
    this.#nextId = options.role === 'client' ? 1 : 2;
    this.#nextPing = this.#nextId;
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
  get failure(): SpdyError | undefined {
    return this.#failure;
  }

  /** How many streams there are. */
  get streams(): number {
    return this.#streams.size;
  }

  /**
   * Opens a stream; resolves when the other end has answered.
   * @throws SpdyError `Reset` where the other end resets it, `Closed` where the connection ends before it is answered: its `cause` tells
   *   what came that was no SPDY
   */
  open(headers: SpdyHeaders): Promise<SpdyStream> {
    const id = this.#nextId;
    const reply = Promise.withResolvers<SpdyStream>();
    reply.promise.catch(() => {});
    if (this.#socket.destroyed || this.#isLeaving || id > MAX_STREAM_ID) {
      reply.reject(new SpdyError('Closed', 'the connection is closed'));
      return reply.promise;
    }
    this.#nextId += 2;
    this.#stream(id, headers);
    this.#replies.set(id, reply);
    this.#send(controlFrame(frameTypes.synStream, 0, words(id, 0), Buffer.of(0, 0), this.#packer.pack(headers)));
    return reply.promise;
  }

  /** Asks whether the other end is there, unless it has not answered the last time: keeps a connection from being idle. */
  ping(): void {
    if (this.#isPinging || this.#isLeaving) return;
    this.#isPinging = true;
    this.#send(controlFrame(frameTypes.ping, 0, words(this.#nextPing)));
    this.#nextPing = this.#nextPing + 2 > MAX_STREAM_ID ? this.#nextId % 2 || 2 : this.#nextPing + 2;
  }

  /** Says farewell, and ends what was not ended; the socket is closed when the other end has closed its own. */
  close(): void {
    if (this.#hasSaidFarewell) return;
    this.#hasSaidFarewell = true;
    this.#isLeaving = true;
    for (const stream of [...this.#streams.values()]) stream.destroy();
    this.#send(controlFrame(frameTypes.goAway, 0, words(this.#newestHeard, 0)));
    this.#socket.end();
  }

  /**
   * Ends without a word, when what was said before has been taken. A Go server cancels what it does for a connection that ends
   * so, and lets it run where it was told farewell (containerd 2.4 kills the command of an exec).
   */
  hangUp(): void {
    this.#isLeaving = true;
    this.#hasSaidFarewell = true;
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
      if (SpdyError.is(error)) this.#failure = error;
      this.#socket.destroy();
    }
    this.#over();
  }

  async #hear(frame: SpdyFrame): Promise<void> {
    if (frame.kind === 'data') {
      // What is said on a stream that is gone, or never was, is no fault: resets cross with data. But nobody begins with that.
      const stream = this.#streams.get(frame.streamId);
      if (stream === undefined && !this.#hasHeardControl && !this.#wasOpened(frame.streamId)) {
        throw new SpdyError('Protocol', `data of stream ${frame.streamId}, which nobody has opened`);
      }
      await stream?.hear(frame.payload);
      if (frame.isEnd) stream?.hearEnd();
      return;
    }
    this.#hasHeardControl = true;
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
      case frameTypes.headers:
        await this.#unpacker.unpack(payload.subarray(4));
        if ((flags & FIN) !== 0) this.#streams.get(streamIdOf(payload))?.hearEnd();
        return;
      case frameTypes.rstStream: {
        const id = streamIdOf(payload);
        this.#replies.get(id)?.reject(new SpdyError('Reset', 'the stream was reset'));
        this.#replies.delete(id);
        const stream = this.#streams.get(id);
        this.#forget(id);
        stream?.hearReset();
        return;
      }
      case frameTypes.ping: {
        const isMine = payload.readUInt32BE() % 2 === this.#nextId % 2;
        if (isMine) this.#isPinging = false;
        else await this.#answer(controlFrame(frameTypes.ping, 0, payload));
        return;
      }
      case frameTypes.goAway:
        this.#isLeaving = true;
        return;
      default:
      // Settings and windows are not acted on, as by spdystream; what is not known is to be ignored.
    }
  }

  async #hearStream(payload: Buffer, flags: number): Promise<void> {
    const id = streamIdOf(payload);
    const headers = await this.#unpacker.unpack(payload.subarray(10));
    const isTheirs = id % 2 !== this.#nextId % 2 && id > this.#newestHeard;
    if (!isTheirs || this.#isLeaving) {
      await this.#answer(controlFrame(frameTypes.rstStream, 0, words(id, resets.protocolError)));
      return;
    }
    this.#newestHeard = id;
    if (this.#theirs >= this.#maxStreams) {
      await this.#answer(controlFrame(frameTypes.rstStream, 0, words(id, resets.refusedStream)));
      return;
    }
    this.#theirs += 1;
    const stream = this.#stream(id, headers);
    if ((flags & FIN) !== 0) stream.hearEnd();
    if (this.#options.onStream?.(stream) !== true) {
      stream.destroy();
      await this.#answer();
      return;
    }
    await this.#answer(controlFrame(frameTypes.synReply, 0, words(id), this.#packer.pack({})));
  }

  #stream(id: number, headers: SpdyHeaders): ConnectionStream {
    const stream = new ConnectionStream(id, headers, {
      say: (data, isLast, done) =>
        this.#say(
          data.flatMap((piece) => dataFrames(id, piece, isLast ? FIN : 0)),
          done,
        ),
      reset: () => this.#send(controlFrame(frameTypes.rstStream, 0, words(id, resets.cancel))),
      forget: () => this.#forget(id),
    });
    this.#streams.set(id, stream);
    if (this.#isClosed) stream.hurry();
    return stream;
  }

  #wasOpened(id: number): boolean {
    return id % 2 === this.#nextId % 2 ? id < this.#nextId : id <= this.#newestHeard;
  }

  #forget(id: number): void {
    const isTheirs = id % 2 !== this.#nextId % 2;
    if (this.#streams.delete(id) && isTheirs) this.#theirs -= 1;
  }

  #send(frame: Buffer): void {
    if (this.#socket.writable) this.#socket.write(frame);
  }

  /** Says what the other end has brought about: nothing more is heard before it takes that, or answers would pile up here. */
  async #answer(frame?: Buffer): Promise<void> {
    const socket = this.#socket;
    if (frame !== undefined) this.#send(frame);
    if (!socket.writableNeedDrain) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    socket.once('drain', resolve).once('close', resolve);
    await promise;
    socket.off('drain', resolve).off('close', resolve);
  }

  #say(pieces: readonly Uint8Array[], done: (error?: Error | null) => void): void {
    if (!this.#socket.writable) {
      done(new SpdyError('Closed', 'the connection is closed'));
      return;
    }
    this.#socket.cork();
    const last = pieces.length - 1;
    for (const [index, piece] of pieces.entries()) {
      if (index === last) this.#socket.write(piece, done);
      else this.#socket.write(piece);
    }
    this.#socket.uncork();
  }

  #over(): void {
    this.#isLeaving = true;
    this.#unpacker.close();
    for (const stream of [...this.#streams.values()]) stream.hearReset();
    this.#streams.clear();
    const closed = new SpdyError('Closed', 'the connection is closed', this.#failure);
    for (const reply of this.#replies.values()) reply.reject(closed);
    this.#replies.clear();
    this.#closed.resolve();
  }
}

function streamIdOf(payload: Buffer): number {
  return payload.readUInt32BE() & 0x7fffffff;
}
