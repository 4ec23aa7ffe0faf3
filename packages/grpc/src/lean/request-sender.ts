import { SendWindow } from './flow.ts';
import {
  CONTINUATION,
  ConnectionError,
  DATA,
  END_HEADERS,
  END_STREAM,
  FLOW_CONTROL_ERROR,
  FRAME_HEADER_BYTES,
  frame,
  HEADERS,
  writeFrameHeader,
} from './frame.ts';
import { NO_DYNAMIC_TABLE } from './hpack-encoder.ts';
import { DEFAULT_SETTINGS, type PeerSettings } from './peer-settings.ts';
import type { UnaryStream } from './unary-stream.ts';

/**
 * Sends requests within the peer's limits on frame size and flow control. Bytes that the flow-control windows do not
 * allow yet are kept and sent later.
 */
export class RequestSender {
  readonly #write: (bytes: Buffer) => void;
  readonly #connection = new SendWindow(DEFAULT_SETTINGS.initialWindowBytes);
  /** Streams whose requests are not completely sent. */
  readonly #blocked = new Set<UnaryStream>();
  #settings: PeerSettings = DEFAULT_SETTINGS;
  #lastId = -1;

  constructor(write: (bytes: Buffer) => void) {
    this.#write = write;
  }

  get settings(): PeerSettings {
    return this.#settings;
  }

  /** Number of the newest stream, or -1 before the first stream. */
  get lastId(): number {
    return this.#lastId;
  }

  /** Assigns a number to the stream and sends its request, or the part of the request that the windows allow. */
  start(stream: UnaryStream): void {
    const isFirst = this.#lastId < 0;
    const head = isFirst ? Buffer.concat([NO_DYNAMIC_TABLE, stream.head]) : stream.head;
    this.#lastId += 2;
    stream.id = this.#lastId;
    const { initialWindowBytes, maxFrameBytes } = this.#settings;
    stream.sendWindow = new SendWindow(initialWindowBytes);
    const body = stream.unsent;
    const room = Math.min(maxFrameBytes, initialWindowBytes, this.#connection.bytes);
    if (head.length > maxFrameBytes || body.length > room) {
      this.#sendHead(stream.id, head);
      this.#pump(stream);
      return;
    }
    // Most requests fit into two frames, which are written as one buffer.
    const bytes = Buffer.allocUnsafe(2 * FRAME_HEADER_BYTES + head.length + body.length);
    let at = writeFrameHeader(bytes, 0, head.length, HEADERS, END_HEADERS, stream.id);
    at += head.copy(bytes, at);
    at = writeFrameHeader(bytes, at, body.length, DATA, END_STREAM, stream.id);
    body.copy(bytes, at);
    this.#take(stream, body.length);
    stream.unsent = body.subarray(body.length);
    this.#write(bytes);
  }

  /** Drops the unsent part of a request. */
  drop(stream: UnaryStream): void {
    this.#blocked.delete(stream);
  }

  /** Applies a WINDOW_UPDATE to a stream, or to the connection if `stream` is `undefined`. @throws ConnectionError */
  widen(stream: UnaryStream | undefined, bytes: number): void {
    const window = stream?.sendWindow ?? this.#connection;
    if (!window.add(bytes)) throw new ConnectionError(FLOW_CONTROL_ERROR, 'a window is too large');
    if (stream === undefined) this.#pumpAll();
    else if (this.#blocked.has(stream)) this.#pump(stream);
  }

  /** Applies the peer's new settings to all streams. @throws ConnectionError */
  apply(settings: PeerSettings, streams: Iterable<UnaryStream>): void {
    const difference = settings.initialWindowBytes - this.#settings.initialWindowBytes;
    this.#settings = settings;
    if (difference === 0) return;
    for (const stream of streams) {
      if (!stream.sendWindow.add(difference)) {
        throw new ConnectionError(FLOW_CONTROL_ERROR, `the window of stream ${stream.id} is too large`);
      }
    }
    this.#pumpAll();
  }

  #sendHead(streamId: number, head: Buffer): void {
    const { maxFrameBytes } = this.#settings;
    for (let at = 0; at < head.length; at += maxFrameBytes) {
      const flags = at + maxFrameBytes >= head.length ? END_HEADERS : 0;
      this.#write(frame(at === 0 ? HEADERS : CONTINUATION, flags, streamId, head.subarray(at, at + maxFrameBytes)));
    }
  }

  #pumpAll(): void {
    for (const stream of this.#blocked) {
      if (this.#connection.bytes <= 0) return;
      this.#pump(stream);
    }
  }

  #pump(stream: UnaryStream): void {
    while (stream.unsent.length > 0) {
      const { maxFrameBytes } = this.#settings;
      const length = Math.min(stream.unsent.length, maxFrameBytes, stream.sendWindow.bytes, this.#connection.bytes);
      if (length <= 0) {
        this.#blocked.add(stream);
        return;
      }
      const part = stream.unsent.subarray(0, length);
      stream.unsent = stream.unsent.subarray(length);
      this.#take(stream, length);
      this.#write(frame(DATA, stream.unsent.length === 0 ? END_STREAM : 0, stream.id, part));
    }
    this.#blocked.delete(stream);
  }

  #take(stream: UnaryStream, bytes: number): void {
    stream.sendWindow.take(bytes);
    this.#connection.take(bytes);
  }
}
