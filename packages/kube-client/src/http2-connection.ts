import type { OutgoingHttpHeaders } from 'node:http';
import type { ClientHttp2Session, ClientHttp2Stream } from 'node:http2';
import type { TLSSocket } from 'node:tls';
import type { Clock, Timer } from '@node-agent/async';
import { errorCode } from '@node-agent/host';
import type { ServerAddress } from './connection-pool.ts';
import { systemErrorOf } from './system-errors.ts';
import type { HttpRequest } from './transport.ts';

/**
 * How long a connection with open streams may be silent before it is pinged, in milliseconds (client-go's
 * HTTP2_READ_IDLE_TIMEOUT_SECONDS).
 */
const READ_IDLE_MS = 30_000;
/**
 * How long to wait for a reply to the ping before the connection is closed, in milliseconds
 * (HTTP2_PING_TIMEOUT_SECONDS).
 */
const PING_TIMEOUT_MS = 15_000;
/**
 * How long a connection may be idle before it is no longer used, in milliseconds: a middlebox may have dropped its
 * state.
 */
const IDLE_MS = 90_000;
/** The number of streams that one connection may have before the server has sent its settings. */
const STREAMS_BEFORE_SETTINGS = 100;
/** Flow-control windows for received data, per stream and per connection, in bytes. */
const STREAM_WINDOW_BYTES = 1 << 20;
const CONNECTION_WINDOW_BYTES = 1 << 22;

const WITHOUT_BODY = { endStream: true } as const;
const WITH_BODY = { endStream: false } as const;

/** REFUSED_STREAM: the server has not processed the request. */
const REFUSED_STREAM = 7;

/** One HTTP/2 connection. Counts its streams and checks whether the peer still responds. */
export class Http2Connection {
  readonly #clock: Clock;
  readonly #session: ClientHttp2Session;
  readonly #server: ServerAddress;
  #open = 0;
  #draining = false;
  #timer: Timer | undefined;
  #lastReadAtMs: number;
  /** The time when the number of streams last changed from or to 0, or when a stream last closed. */
  #lastUsedAtMs: number;

  private constructor(clock: Clock, server: ServerAddress, session: ClientHttp2Session) {
    this.#clock = clock;
    this.#server = server;
    this.#session = session;
    this.#lastReadAtMs = clock.monotonic();
    this.#lastUsedAtMs = this.#lastReadAtMs;
    // Ignored here: a connection failure also fails each of the connection's streams, and the stream reports it.
    session.on('error', () => {});
    session.on('close', () => this.#stopWatching());
    session.unref();
  }

  /** Creates an HTTP/2 connection over a socket that has negotiated it. */
  static async over(clock: Clock, server: ServerAddress, socket: TLSSocket): Promise<Http2Connection> {
    // Loaded on demand: the module is large, and not all servers speak HTTP/2.
    const { connect } = await import('node:http2');
    const session = connect(`https://${server.authority}`, {
      createConnection: () => socket,
      settings: { enablePush: false, initialWindowSize: STREAM_WINDOW_BYTES },
    });
    session.once('connect', () => {
      // The event comes one turn after the connection is made; the session may have been destroyed in between.
      if (!session.destroyed) session.setLocalWindowSize(CONNECTION_WINDOW_BYTES);
    });
    return new Http2Connection(clock, server, session);
  }

  /** The time when data was last received from the peer, on the monotonic clock in milliseconds. */
  get lastReadAtMs(): number {
    return this.#lastReadAtMs;
  }

  /** Whether the connection has ended. */
  get gone(): boolean {
    return this.#session.destroyed || (this.#session.closed && this.#open === 0);
  }

  /** Whether another request may use the connection. */
  get hasRoom(): boolean {
    if (this.#draining || this.#session.closed || this.#session.destroyed) return false;
    if (this.#open === 0 && this.#clock.monotonic() - this.#lastUsedAtMs >= IDLE_MS) {
      this.drain();
      return false;
    }
    const limit = this.#session.remoteSettings?.maxConcurrentStreams ?? STREAMS_BEFORE_SETTINGS;
    return this.#open < Math.max(limit, 1);
  }

  /** Records that data was received from the peer. */
  touch(): void {
    this.#lastReadAtMs = this.#clock.monotonic();
  }

  /** Starts a request. The caller must call {@link closed} when the stream has closed. */
  request(request: HttpRequest, headers: OutgoingHttpHeaders): ClientHttp2Stream {
    const all = {
      ':method': request.method,
      ':scheme': 'https',
      ':authority': this.#server.authority,
      ':path': `${this.#server.pathPrefix}${request.path}`,
      ...headers,
    };
    const stream = this.#session.request(all, request.body === undefined ? WITHOUT_BODY : WITH_BODY);
    if (this.#open++ === 0) {
      this.#session.ref();
      this.#lastUsedAtMs = this.#clock.monotonic();
      this.#watch(READ_IDLE_MS);
    }
    if (request.body !== undefined) stream.end(request.body);
    return stream;
  }

  /** Records that the stream of a request has closed. */
  closed(): void {
    this.#lastUsedAtMs = this.#clock.monotonic();
    if (--this.#open > 0) return;
    this.#stopWatching();
    if (!this.#session.destroyed) this.#session.unref();
  }

  /**
   * Reports whether the server certainly did not process a failed request. Such a request may be repeated whatever its
   * method.
   */
  wasRefused(stream: ClientHttp2Stream, error: unknown): boolean {
    if (stream.rstCode === REFUSED_STREAM) return true;
    const code = errorCode(error);
    return code === 'ERR_HTTP2_GOAWAY_SESSION' || code === 'ERR_HTTP2_INVALID_SESSION';
  }

  /** Accepts no more requests, and closes the connection when the current ones complete. */
  drain(): void {
    this.#draining = true;
    if (!this.#session.closed && !this.#session.destroyed) this.#session.close();
  }

  /** Closes the connection immediately. */
  destroy(error?: Error): void {
    this.#draining = true;
    if (!this.#session.destroyed) this.#session.destroy(error);
  }

  #stopWatching(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  /** Checks periodically, while there are streams, whether data was received, and pings the peer if not. */
  #watch(delayMs: number): void {
    this.#timer?.cancel();
    this.#timer = this.#clock.setTimer(delayMs, () => {
      // The event `close`, which also stops this timer, comes some turns after the session was destroyed.
      if (this.#session.destroyed) return;
      const silentMs = this.#clock.monotonic() - Math.max(this.#lastReadAtMs, this.#lastUsedAtMs);
      if (silentMs < READ_IDLE_MS) {
        this.#watch(READ_IDLE_MS - silentMs);
        return;
      }
      if (silentMs >= READ_IDLE_MS + PING_TIMEOUT_MS) {
        this.destroy(
          systemErrorOf('ETIMEDOUT', `the server was silent for ${Math.round(silentMs)} ms and did not answer a ping`),
        );
        return;
      }
      this.#session.ping((error) => {
        if (error === null) this.touch();
      });
      this.#watch(PING_TIMEOUT_MS);
    });
  }
}
