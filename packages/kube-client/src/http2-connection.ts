import type { OutgoingHttpHeaders } from 'node:http';
import type { ClientHttp2Session, ClientHttp2Stream } from 'node:http2';
import type { TLSSocket } from 'node:tls';
import type { Clock, Timer } from '@node-agent/async';
import { errorCode } from '@node-agent/host';
import type { ServerAddress } from './connection-pool.ts';
import { systemErrorOf } from './system-errors.ts';
import type { HttpRequest } from './transport.ts';

/** A connection with open streams that is silent for so long is pinged (client-go's HTTP2_READ_IDLE_TIMEOUT_SECONDS). */
const READ_IDLE_MS = 30_000;
/** It is given up where no answer comes for so long (HTTP2_PING_TIMEOUT_SECONDS). */
const PING_TIMEOUT_MS = 15_000;
/** One that was not used for so long is not used again: something on the way may have forgotten it. */
const IDLE_MS = 90_000;
/** Until the server says how many streams it allows, so many. */
const STREAMS_BEFORE_SETTINGS = 100;
/** How much may be under way to us, per stream and per connection, in bytes. */
const STREAM_WINDOW_BYTES = 1 << 20;
const CONNECTION_WINDOW_BYTES = 1 << 22;

/** REFUSED_STREAM: the server has not looked at the request. */
const REFUSED_STREAM = 7;

/** One HTTP/2 connection: how many streams it has, and whether its peer is still there. */
export class Http2Connection {
  readonly #clock: Clock;
  readonly #session: ClientHttp2Session;
  readonly #server: ServerAddress;
  #open = 0;
  #draining = false;
  #timer: Timer | undefined;
  #lastReadAtMs: number;
  /** When it last began or ceased to have streams. */
  #lastUsedAtMs: number;

  private constructor(clock: Clock, server: ServerAddress, session: ClientHttp2Session) {
    this.#clock = clock;
    this.#server = server;
    this.#session = session;
    this.#lastReadAtMs = clock.monotonic();
    this.#lastUsedAtMs = this.#lastReadAtMs;
    // A failure of the connection is one of each of its streams, and told there.
    session.on('error', () => {});
    session.on('close', () => this.#stopWatching());
    session.unref();
  }

  /** Speaks HTTP/2 over a socket that has agreed to it. */
  static async over(clock: Clock, server: ServerAddress, socket: TLSSocket): Promise<Http2Connection> {
    // Loaded here, for not all servers speak it, and it is not small.
    const { connect } = await import('node:http2');
    const session = connect(`https://${server.authority}`, {
      createConnection: () => socket,
      settings: { enablePush: false, initialWindowSize: STREAM_WINDOW_BYTES },
    });
    session.once('connect', () => {
      // It is told of a turn later, and may have been destroyed in between.
      if (!session.destroyed) session.setLocalWindowSize(CONNECTION_WINDOW_BYTES);
    });
    return new Http2Connection(clock, server, session);
  }

  /** When the peer was last heard of, on the monotonic clock. */
  get lastReadAtMs(): number {
    return this.#lastReadAtMs;
  }

  /** It has ended. */
  get gone(): boolean {
    return this.#session.destroyed || (this.#session.closed && this.#open === 0);
  }

  /** Whether another request may go over it. */
  get hasRoom(): boolean {
    if (this.#draining || this.#session.closed || this.#session.destroyed) return false;
    if (this.#open === 0 && this.#clock.monotonic() - this.#lastUsedAtMs >= IDLE_MS) {
      this.drain();
      return false;
    }
    const limit = this.#session.remoteSettings?.maxConcurrentStreams ?? STREAMS_BEFORE_SETTINGS;
    return this.#open < Math.max(limit, 1);
  }

  /** The peer was heard of. */
  touch(): void {
    this.#lastReadAtMs = this.#clock.monotonic();
  }

  /** Begins a request. */
  request(request: HttpRequest, headers: OutgoingHttpHeaders): ClientHttp2Stream {
    const { host: _host, ...rest } = headers;
    const pseudo = {
      ':method': request.method,
      ':scheme': 'https',
      ':authority': this.#server.authority,
      ':path': `${this.#server.pathPrefix}${request.path}`,
    };
    const stream = this.#session.request({ ...pseudo, ...rest }, { endStream: request.body === undefined });
    if (this.#open++ === 0) {
      this.#session.ref();
      this.#lastUsedAtMs = this.#clock.monotonic();
      this.#watch(READ_IDLE_MS);
    }
    stream.on('close', () => this.#closed());
    if (request.body !== undefined) stream.end(request.body);
    return stream;
  }

  /** Whether the server is sure not to have looked at a request that failed, so that any may be sent again. */
  wasRefused(stream: ClientHttp2Stream, error: unknown): boolean {
    if (stream.rstCode === REFUSED_STREAM) return true;
    const code = errorCode(error);
    return code === 'ERR_HTTP2_GOAWAY_SESSION' || code === 'ERR_HTTP2_INVALID_SESSION';
  }

  /** Takes no more requests, and ends when those that it has are done. */
  drain(): void {
    this.#draining = true;
    if (!this.#session.closed && !this.#session.destroyed) this.#session.close();
  }

  /** Ends at once. */
  destroy(error?: Error): void {
    this.#draining = true;
    if (!this.#session.destroyed) this.#session.destroy(error);
  }

  #closed(): void {
    this.#lastUsedAtMs = this.#clock.monotonic();
    if (--this.#open > 0) return;
    this.#stopWatching();
    if (!this.#session.destroyed) this.#session.unref();
  }

  #stopWatching(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  /** Looks, as long as there are streams, whether the peer was heard of, and asks it where it was not. */
  #watch(delayMs: number): void {
    this.#timer?.cancel();
    this.#timer = this.#clock.setTimer(delayMs, () => {
      // Its `close`, which ends this too, comes some turns after its end.
      if (this.#session.destroyed) return;
      const silentMs = this.#clock.monotonic() - Math.max(this.#lastReadAtMs, this.#lastUsedAtMs);
      if (silentMs < READ_IDLE_MS) {
        this.#watch(READ_IDLE_MS - silentMs);
        return;
      }
      if (silentMs >= READ_IDLE_MS + PING_TIMEOUT_MS) {
        this.destroy(
          systemErrorOf('ETIMEDOUT', `the server was silent for ${Math.round(silentMs)} ms and answers no ping`),
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
