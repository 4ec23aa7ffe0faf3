import { ReceiveWindow } from './flow.ts';
import * as h2 from './frame.ts';
import { FrameReader } from './frame-reader.ts';
import { HpackDecoder, HpackError } from './hpack-decoder.ts';
import { applySettings } from './peer-settings.ts';
import { RequestSender } from './request-sender.ts';
import { MAX_HEADER_BYTES } from './response-headers.ts';
import { type CallStatus, statusOfReset } from './status.ts';
import type { UnaryStream } from './unary-stream.ts';

/** Receives the events of a connection. */
export interface ConnectionEvents {
  /** Sends bytes to the peer. */
  write(bytes: Buffer): void;
  /**
   * Called once, when the peer's settings have arrived and calls may start. Not called if GOAWAY arrived together with
   * the settings.
   */
  onReady(): void;
  /** Called once, when no further call may start: after GOAWAY, or when the stream numbers are used up. */
  onDraining(): void;
  /** Called when the first of several calls starts, and when the last call has ended. */
  onActive(isActive: boolean): void;
}

/**
 * Number of bytes that the peer may send before the client announces more, per stream and for the whole connection.
 * Larger responses need WINDOW_UPDATE frames.
 */
const STREAM_WINDOW_BYTES = 1024 * 1024;
const CONNECTION_WINDOW_BYTES = 4 * 1024 * 1024;
const DEFAULT_WINDOW_BYTES = 65_535;

const ENABLE_PUSH = 2;
const INITIAL_WINDOW_SIZE = 4;
const MAX_HEADER_LIST_SIZE = 6;
const MAX_STREAM_ID = 2 ** 31 - 1;

/** Maximum encoded size of a header block that consists of several frames, in bytes. */
const MAX_BLOCK_BYTES = 2 * MAX_HEADER_BYTES;

/** A header block of which some CONTINUATION frames have not arrived yet. */
interface OpenBlock {
  readonly streamId: number;
  readonly isEnd: boolean;
  readonly parts: Buffer[];
  bytes: number;
}

/**
 * The client's side of an HTTP/2 connection (RFC 9113) for unary calls of gRPC. The class does no I/O: {@link receive}
 * takes the peer's bytes, and {@link ConnectionEvents.write} gets the bytes to send.
 */
export class Http2Connection {
  readonly #events: ConnectionEvents;
  readonly #reader: FrameReader;
  readonly #sender: RequestSender;
  readonly #hpack = new HpackDecoder();
  readonly #window = new ReceiveWindow(CONNECTION_WINDOW_BYTES);
  readonly #streams = new Map<number, UnaryStream>();
  /** Calls that wait until the peer allows another stream. */
  readonly #waiting = new Set<UnaryStream>();
  #openBlock: OpenBlock | undefined;
  #isReady = false;
  #isDraining = false;
  /** Newest stream that the peer has accepted according to its GOAWAY. */
  #lastTaken = MAX_STREAM_ID;
  #isSettingsAcknowledged = false;

  /** Handlers of frames, by frame type. */
  readonly #handlers: readonly ((flags: number, streamId: number, payload: Buffer) => void)[] = [
    (flags, streamId, payload) => this.#onData(flags, streamId, payload),
    (flags, streamId, payload) => this.#onHeaders(flags, streamId, payload),
    // PRIORITY frames are checked but ignored, because priorities are obsolete (RFC 9113, section 5.3.2).
    (_flags, _streamId, payload) => checkLength('PRIORITY', payload, 5),
    (_flags, streamId, payload) => this.#onReset(streamId, payload),
    (flags, streamId, payload) => this.#onSettings(flags, streamId, payload),
    () => {
      throw violation('a PUSH_PROMISE frame arrived, but push is disabled');
    },
    (flags, streamId, payload) => this.#onPing(flags, streamId, payload),
    (_flags, streamId, payload) => this.#onGoAway(streamId, payload),
    (_flags, streamId, payload) => this.#onWindowUpdate(streamId, payload),
    (flags, _streamId, payload) => this.#onContinuation(flags, payload),
  ];

  constructor(events: ConnectionEvents) {
    this.#events = events;
    this.#reader = new FrameReader((type, flags, streamId, payload) => this.#onFrame(type, flags, streamId, payload));
    this.#sender = new RequestSender((bytes) => events.write(bytes));
  }

  /** Sends the connection preface. */
  open(): void {
    const settings = h2.settingsFrame([
      [ENABLE_PUSH, 0],
      [INITIAL_WINDOW_SIZE, STREAM_WINDOW_BYTES],
      [MAX_HEADER_LIST_SIZE, MAX_HEADER_BYTES],
    ]);
    const update = h2.numbersFrame(h2.WINDOW_UPDATE, 0, CONNECTION_WINDOW_BYTES - DEFAULT_WINDOW_BYTES);
    this.#events.write(Buffer.concat([Buffer.from(h2.PREFACE), settings, update]));
  }

  get isDraining(): boolean {
    return this.#isDraining;
  }

  /** Number of calls in progress, including calls that wait for a stream. */
  get calls(): number {
    return this.#streams.size + this.#waiting.size;
  }

  /** Starts a call, immediately or when the peer allows another stream. */
  start(stream: UnaryStream): void {
    if (this.calls === 0) this.#events.onActive(true);
    if (this.#streams.size < this.#sender.settings.maxConcurrentStreams) this.#begin(stream);
    else this.#waiting.add(stream);
  }

  /** Ends a call because the caller cancelled the call. */
  cancel(stream: UnaryStream, status: CallStatus): void {
    stream.response.fail(status);
    this.#finish(stream, h2.CANCEL);
  }

  /** Ends all calls with the given status. */
  fail(status: CallStatus): void {
    for (const stream of [...this.#streams.values(), ...this.#waiting]) {
      stream.response.fail(status);
      this.#remove(stream);
    }
  }

  /** Sends GOAWAY, which tells the peer why the connection ends. */
  goAway(errorCode: number): void {
    this.#events.write(h2.numbersFrame(h2.GOAWAY, 0, 0, errorCode));
  }

  /**
   * Processes bytes that the peer has sent.
   * @throws ConnectionError if the peer violated HTTP/2, after which the connection must be closed
   */
  receive(chunk: Buffer): void {
    const wasReady = this.#isReady;
    try {
      this.#reader.push(chunk);
    } catch (error) {
      if (error instanceof HpackError) throw new h2.ConnectionError(h2.COMPRESSION_ERROR, error.message);
      throw error;
    }
    const bytes = this.#window.refill();
    if (bytes > 0) this.#events.write(h2.numbersFrame(h2.WINDOW_UPDATE, 0, bytes));
    // `onReady` starts calls, so it is called only after the whole chunk was read: the chunk cannot contain responses
    // to these calls.
    if (!wasReady && this.#isReady && !this.#isDraining) this.#events.onReady();
  }

  #onFrame(type: number, flags: number, streamId: number, payload: Buffer): void {
    if (!this.#isReady && (type !== h2.SETTINGS || (flags & h2.ACK) !== 0)) {
      throw violation('the first frame is not SETTINGS');
    }
    if (this.#openBlock !== undefined && (type !== h2.CONTINUATION || streamId !== this.#openBlock.streamId)) {
      throw violation(`a header block is interrupted by a frame of type ${type}`);
    }
    const handle = this.#handlers[type];
    // Frames of unknown types are ignored (RFC 9113, section 4.1).
    handle?.(flags, streamId, payload);
  }

  #onPing(flags: number, streamId: number, payload: Buffer): void {
    if (streamId !== 0) throw violation('a PING frame has a stream');
    checkLength('PING', payload, 8);
    if ((flags & h2.ACK) !== 0) throw violation('a PING was acknowledged that was not sent');
    this.#events.write(h2.frame(h2.PING, h2.ACK, 0, payload));
  }

  #onData(flags: number, streamId: number, payload: Buffer): void {
    if (streamId === 0) throw violation('a DATA frame has no stream');
    if (!this.#window.take(payload.length)) {
      throw new h2.ConnectionError(h2.FLOW_CONTROL_ERROR, 'the peer exceeded the window of the connection');
    }
    const stream = this.#known(streamId);
    if (stream === undefined) return;
    const data = h2.withoutPadding(flags, payload);
    if (!stream.response.admits(data.length)) throw violation(`data of stream ${streamId} do not fit its headers`);
    if (!stream.receiveWindow.take(payload.length)) {
      throw new h2.ConnectionError(h2.FLOW_CONTROL_ERROR, `the peer exceeded the window of stream ${streamId}`);
    }
    const isEnd = (flags & h2.END_STREAM) !== 0;
    this.#advance(stream, stream.response.data(data, isEnd));
    if (isEnd || stream.response.outcome !== undefined) return;
    const bytes = stream.receiveWindow.refill();
    if (bytes > 0) this.#events.write(h2.numbersFrame(h2.WINDOW_UPDATE, streamId, bytes));
  }

  #onHeaders(flags: number, streamId: number, payload: Buffer): void {
    if (streamId === 0) throw violation('a HEADERS frame has no stream');
    const block = h2.headerBlock(flags, payload);
    const isEnd = (flags & h2.END_STREAM) !== 0;
    if ((flags & h2.END_HEADERS) !== 0) this.#onBlock(streamId, isEnd, block);
    else this.#openBlock = { streamId, isEnd, parts: [Buffer.from(block)], bytes: block.length };
  }

  #onContinuation(flags: number, payload: Buffer): void {
    const open = this.#openBlock;
    if (open === undefined) throw violation('a CONTINUATION frame follows no HEADERS frame');
    open.parts.push(Buffer.from(payload));
    open.bytes += payload.length;
    if (open.bytes > MAX_BLOCK_BYTES || open.parts.length > MAX_BLOCK_PARTS) {
      throw new h2.ConnectionError(h2.ENHANCE_YOUR_CALM, 'a header block is too large');
    }
    if ((flags & h2.END_HEADERS) === 0) return;
    this.#openBlock = undefined;
    this.#onBlock(open.streamId, open.isEnd, Buffer.concat(open.parts, open.bytes));
  }

  #onBlock(streamId: number, isEnd: boolean, block: Buffer): void {
    const stream = this.#known(streamId);
    // Header blocks of streams that have ended are decoded too, because they may change the dynamic table.
    const fields = this.#hpack.decode(block);
    if (stream !== undefined) this.#advance(stream, stream.response.headers(fields, isEnd));
  }

  #onReset(streamId: number, payload: Buffer): void {
    if (streamId === 0) throw violation('a RST_STREAM frame has no stream');
    checkLength('RST_STREAM', payload, 4);
    const stream = this.#known(streamId);
    if (stream === undefined) return;
    stream.response.reset(payload.readUInt32BE(0));
    this.#remove(stream);
  }

  #onSettings(flags: number, streamId: number, payload: Buffer): void {
    if (streamId !== 0) throw violation('a SETTINGS frame has a stream');
    if ((flags & h2.ACK) !== 0) {
      checkLength('SETTINGS acknowledgement', payload, 0);
      if (this.#isSettingsAcknowledged) throw violation('settings were acknowledged twice');
      this.#isSettingsAcknowledged = true;
      return;
    }
    this.#sender.apply(applySettings(this.#sender.settings, payload), this.#streams.values());
    this.#events.write(h2.frame(h2.SETTINGS, h2.ACK, 0, Buffer.alloc(0)));
    this.#isReady = true;
    this.#admit();
  }

  #onGoAway(streamId: number, payload: Buffer): void {
    if (streamId !== 0) throw violation('a GOAWAY frame has a stream');
    if (payload.length < 8) throw new h2.ConnectionError(h2.FRAME_SIZE_ERROR, 'a GOAWAY frame is too short');
    const lastTaken = payload.readUInt32BE(0) & MAX_STREAM_ID;
    if (lastTaken > this.#lastTaken || (lastTaken > 0 && lastTaken % 2 === 0)) {
      throw violation(`a GOAWAY frame names stream ${lastTaken}`);
    }
    this.#lastTaken = lastTaken;
    this.#drain();
    const errorCode = payload.readUInt32BE(4);
    // A peer that names an error sends no more responses. Node.js's client ends all calls in this case too.
    if (errorCode !== h2.NO_ERROR) this.fail(statusOfReset(errorCode));
    const refused = [...this.#streams.values()].filter(({ id }) => id > lastTaken);
    for (const stream of [...refused, ...this.#waiting]) {
      stream.response.fail(statusOfReset(h2.REFUSED_STREAM));
      this.#remove(stream);
    }
  }

  #onWindowUpdate(streamId: number, payload: Buffer): void {
    checkLength('WINDOW_UPDATE', payload, 4);
    const bytes = payload.readUInt32BE(0) & MAX_STREAM_ID;
    const stream = streamId === 0 ? undefined : this.#known(streamId);
    if (streamId !== 0 && stream === undefined) return;
    if (bytes === 0) throw violation('a WINDOW_UPDATE frame adds nothing');
    this.#sender.widen(stream, bytes);
  }

  /**
   * Returns the stream with the given number, or `undefined` if the stream has ended. @throws ConnectionError if the
   * stream was never opened
   */
  #known(streamId: number): UnaryStream | undefined {
    const stream = this.#streams.get(streamId);
    if (stream === undefined && (streamId > this.#sender.lastId || streamId % 2 === 0)) {
      throw violation(`stream ${streamId} was not opened`);
    }
    return stream;
  }

  #begin(stream: UnaryStream): void {
    stream.receiveWindow = new ReceiveWindow(STREAM_WINDOW_BYTES);
    this.#sender.start(stream);
    this.#streams.set(stream.id, stream);
    if (stream.id >= MAX_STREAM_ID - 1) this.#drain();
  }

  #admit(): void {
    for (const stream of this.#waiting) {
      if (this.#isDraining || this.#streams.size >= this.#sender.settings.maxConcurrentStreams) return;
      this.#waiting.delete(stream);
      this.#begin(stream);
    }
  }

  #drain(): void {
    if (this.#isDraining) return;
    this.#isDraining = true;
    this.#events.onDraining();
  }

  /** Ends a stream if its response is complete or must be reset. */
  #advance(stream: UnaryStream, resetWith: number | undefined): void {
    if (resetWith !== undefined) this.#finish(stream, resetWith);
    else if (stream.response.outcome !== undefined) this.#finish(stream, h2.NO_ERROR);
  }

  /** Ends a stream. The stream is reset unless both sides have already ended it. */
  #finish(stream: UnaryStream, errorCode: number): void {
    const isOpen = this.#streams.has(stream.id);
    const isClosed = errorCode === h2.NO_ERROR && stream.unsent.length === 0;
    if (isOpen && !isClosed) this.#events.write(h2.numbersFrame(h2.RST_STREAM, stream.id, errorCode));
    this.#remove(stream);
  }

  #remove(stream: UnaryStream): void {
    const wasKnown = this.#streams.delete(stream.id) || this.#waiting.delete(stream);
    if (!wasKnown) return;
    this.#sender.drop(stream);
    stream.settle();
    this.#admit();
    if (this.calls === 0) this.#events.onActive(false);
  }
}

/** Maximum number of frames of a header block. */
const MAX_BLOCK_PARTS = 9;

function violation(message: string): h2.ConnectionError {
  return new h2.ConnectionError(h2.PROTOCOL_ERROR, message);
}

function checkLength(name: string, payload: Buffer, length: number): void {
  if (payload.length === length) return;
  throw new h2.ConnectionError(h2.FRAME_SIZE_ERROR, `a ${name} frame has ${payload.length} bytes, not ${length}`);
}
