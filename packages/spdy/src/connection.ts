import type { Duplex } from 'node:stream';
import { checkComponents, checkOptions } from '@node-agent/async';
import { SpdyError } from './errors.ts';
import { controlFrame, dataFrames, FIN, FrameReader, frameTypes, resets, type SpdyFrame, words } from './frames.ts';
import { HeaderPacker, HeaderUnpacker, type SpdyHeaders } from './header-block.ts';
import { ConnectionStream, type SpdyStream } from './stream.ts';

/** Settings of one end of a connection. */
export interface SpdyConnectionOptions {
  /** Role of this end of the connection. Streams that a client opens have odd ids. */
  readonly role: 'client' | 'server';
  /**
   * Called with each stream that the other end opens. Return `false` to reset the stream. The other end gets the reply
   * after the call returns. If absent, every stream is reset.
   */
  readonly onStream?: (stream: SpdyStream) => boolean;
  /** Limit of open streams that the other end has opened. Streams beyond the limit are refused. Default: 1000. */
  readonly maxStreams?: number;
  /** Bytes of the connection that were read before the socket was passed to this object. */
  readonly head?: Buffer;
}

const MAX_STREAM_ID = 2 ** 31 - 1;

/**
 * One end of a SPDY/3.1 connection as Kubernetes uses it (`github.com/moby/spdystream`): streams with headers,
 * half-close, resets, pings and GOAWAY. There is no flow control per stream, so a stream without a reader blocks the
 * others. Bytes that are not SPDY end the connection. Memory for received data is bounded: the streams' read buffers,
 * plus one control frame.
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
  /** Number of open streams that the other end has opened. */
  #theirs = 0;
  #nextPing: number;
  #isPinging = false;
  /** Whether no stream may be opened any more. */
  #isLeaving = false;
  #hasSaidFarewell = false;
  #isClosed = false;
  #failure: SpdyError | undefined;

  constructor(socket: Duplex, options: SpdyConnectionOptions) {
    checkOptions('SpdyConnection', options, {
      role: ['client', 'server'],
      onStream: 'function?',
      maxStreams: 'limit?',
      head: 'object?',
    });
    checkComponents('SpdyConnection', { socket }, { socket: ['on', 'write'] });
    this.#socket = socket;
    this.#options = options;
    const { maxStreams = 1000 } = options;
    this.#maxStreams = maxStreams;
    this.#nextId = options.role === 'client' ? 1 : 2;
    this.#nextPing = this.#nextId;
    socket.on('error', () => {});
    // Data that was already received is still delivered, without waiting for readers.
    socket.on('close', () => {
      this.#isClosed = true;
      for (const stream of this.#streams.values()) stream.hurry();
    });
    void this.#listen(options.head);
  }

  /** Resolves when the connection can neither send nor receive any more. */
  get closed(): Promise<void> {
    return this.#closed.promise;
  }

  /** The error for which the connection was closed. `undefined` unless the other end sent bytes that are not SPDY. */
  get failure(): SpdyError | undefined {
    return this.#failure;
  }

  /** Number of open streams. */
  get streams(): number {
    return this.#streams.size;
  }

  /**
   * Opens a stream. Resolves when the other end has replied.
   * @throws SpdyError `Reset` if the other end resets the stream; `Closed` if the connection ends before the reply. If
   *   the other end sent bytes that are not SPDY, `cause` is the error for these bytes.
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

  /** Sends a ping to keep the connection from being idle. Does nothing while the last ping is unanswered. */
  ping(): void {
    if (this.#isPinging || this.#isLeaving) return;
    this.#isPinging = true;
    this.#send(controlFrame(frameTypes.ping, 0, words(this.#nextPing)));
    this.#nextPing = this.#nextPing + 2 > MAX_STREAM_ID ? this.#nextId % 2 || 2 : this.#nextPing + 2;
  }

  /** Sends GOAWAY and resets all open streams. The socket closes when the other end has closed its side. */
  close(): void {
    if (this.#hasSaidFarewell) return;
    this.#hasSaidFarewell = true;
    this.#isLeaving = true;
    for (const stream of [...this.#streams.values()]) stream.destroy();
    this.#send(controlFrame(frameTypes.goAway, 0, words(this.#newestHeard, 0)));
    this.#socket.end();
  }

  /**
   * Closes the connection without GOAWAY, after everything written before was sent. A Go server cancels the work of a
   * connection that ends without GOAWAY, and lets the work finish after GOAWAY (containerd 2.4 kills the command of an
   * exec).
   */
  hangUp(): void {
    this.#isLeaving = true;
    this.#hasSaidFarewell = true;
    this.#socket.end();
  }

  /** Destroys the socket immediately. */
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
      // Data for a stream that was reset is normal, because resets cross with data. But a connection cannot start with
      // data for a stream that no end has opened.
      const stream = this.#streams.get(frame.streamId);
      if (stream === undefined && !this.#hasHeardControl && !this.#wasOpened(frame.streamId)) {
        throw new SpdyError('Protocol', `data for stream ${frame.streamId}, which neither end has opened`);
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
        // The zlib stream continues from block to block, so every header block must be unpacked, even of an unknown
        // stream.
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
      // Settings and windows have no effect, as in spdystream. Unknown frame types are ignored.
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

  /**
   * Sends a frame in reply to the other end, and waits until the socket has room. Without the wait, an end that sends
   * and never reads would fill our memory with replies.
   */
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
