import type { OutgoingHttpHeaders } from 'node:http';
import type { ClientHttp2Stream } from 'node:http2';
import { abortable, type Clock } from '@node-agent/async';
import type { ConnectionPool } from './connection-pool.ts';
import { KubeError } from './errors.ts';
import { flatten } from './http1-pool.ts';
import { broken, Http2Body } from './http2-body.ts';
import type { Http2Connection } from './http2-connection.ts';
import { toError } from './system-errors.ts';
import type { HttpRequest, HttpResponse } from './transport.ts';

/**
 * Sends requests over HTTP/2: all requests and watches share one connection. More connections are opened if the
 * server's limit of streams requires them.
 */
export class Http2Pool implements ConnectionPool {
  readonly #clock: Clock;
  readonly #connect: () => Promise<Http2Connection>;
  readonly #connections = new Set<Http2Connection>();
  /** For each open stream, a function that ends the stream with an error. */
  readonly #streams = new Set<(error: Error) => void>();
  #dialing: Promise<Http2Connection> | undefined;
  #ended: 'retired' | 'destroyed' | undefined;

  /** @param first a connection that is already open */
  constructor(clock: Clock, connect: () => Promise<Http2Connection>, first: Http2Connection) {
    this.#clock = clock;
    this.#connect = connect;
    this.#connections.add(first);
  }

  get streams(): number {
    return this.#streams.size;
  }

  async send(
    request: HttpRequest,
    headers: OutgoingHttpHeaders,
    signal: AbortSignal | undefined,
  ): Promise<HttpResponse> {
    for (let first = true; ; first = false) {
      signal?.throwIfAborted();
      const connection = this.#withRoom() ?? (await this.#usable(signal));
      const startedAtMs = this.#clock.monotonic();
      const stream = connection.request(request, headers);
      // A request that waited for a connection while the pool was retired still gets its response. Its connection
      // closes afterwards.
      if (this.#ended === 'retired') connection.drain();
      try {
        return await this.#answer(request, stream, connection, signal);
      } catch (error) {
        // Nothing was received since the aborted request began, so the server may have vanished. Later requests use
        // another connection.
        if (signal?.aborted && connection.lastReadAtMs < startedAtMs) connection.drain();
        if (!first || signal?.aborted || !connection.wasRefused(stream, error)) throw error;
      }
    }
  }

  retire(why: string): void {
    this.#ended = 'retired';
    this.#endStreams(why);
    for (const connection of this.#connections) connection.drain();
  }

  destroy(why: string): void {
    this.#ended = 'destroyed';
    this.#endStreams(why);
    for (const connection of this.#connections) connection.destroy();
  }

  async #usable(signal: AbortSignal | undefined): Promise<Http2Connection> {
    for (;;) {
      this.#dialing ??= this.#dial();
      await abortable(this.#dialing, signal);
      const connection = this.#withRoom();
      if (connection !== undefined) return connection;
    }
  }

  /** Returns a connection that may take another request. */
  #withRoom(): Http2Connection | undefined {
    if (this.#ended === 'destroyed') {
      throw new KubeError({ code: 'ConnectionReplaced', message: 'the connections were closed' });
    }
    for (const connection of this.#connections) {
      if (connection.gone) this.#connections.delete(connection);
      else if (connection.hasRoom) return connection;
    }
    return undefined;
  }

  async #dial(): Promise<Http2Connection> {
    try {
      const connection = await this.#connect();
      this.#connections.add(connection);
      if (this.#ended === 'destroyed') connection.destroy();
      return connection;
    } finally {
      this.#dialing = undefined;
    }
  }

  #answer(
    request: HttpRequest,
    stream: ClientHttp2Stream,
    connection: Http2Connection,
    signal: AbortSignal | undefined,
  ): Promise<HttpResponse> {
    const end = (error: Error): void => void stream.destroy(error);
    const onAbort = (): void => end(toError(signal?.reason));
    // The option `once` would cost a fifth of the CPU time of adding and removing, and a signal is aborted only once
    // anyway.
    signal?.addEventListener('abort', onAbort);
    if (request.stream) this.#streams.add(end);
    return new Promise<HttpResponse>((resolve, reject) => {
      let isAnswered = false;
      stream.on('error', (error) => reject(signal?.aborted ? signal.reason : error));
      stream.on('close', () => {
        connection.closed();
        signal?.removeEventListener('abort', onAbort);
        this.#streams.delete(end);
        // An error is created only if it is needed: creating one is expensive, and most streams close without a
        // failure.
        if (!isAnswered) reject(broken(stream));
      });
      stream.on('response', (headers) => {
        isAnswered = true;
        connection.touch();
        const status = headers[':status'] ?? 0;
        resolve({
          status,
          headers: flatten(headers as Record<string, string>),
          body: new Http2Body(stream, connection, signal),
        });
      });
    });
  }

  #endStreams(why: string): void {
    for (const end of [...this.#streams]) end(new KubeError({ code: 'ConnectionReplaced', message: why }));
  }
}
