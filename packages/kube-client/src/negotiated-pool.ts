import type { OutgoingHttpHeaders } from 'node:http';
import { abortable, type Clock } from '@node-agent/async';
import { tlsAgent } from './agents.ts';
import type { ConnectionPool } from './connection-pool.ts';
import { KubeError } from './errors.ts';
import { Http1Pool } from './http1-pool.ts';
import { Http2Connection } from './http2-connection.ts';
import { Http2Pool } from './http2-pool.ts';
import { systemErrorOf } from './system-errors.ts';
import type { TlsDialer } from './tls-dialer.ts';
import type { HttpRequest, HttpResponse } from './transport.ts';

/**
 * Uses HTTP/2 if the server supports it, otherwise HTTP/1.1. The protocol is negotiated by the first connection (ALPN).
 */
export class NegotiatedPool implements ConnectionPool {
  readonly #clock: Clock;
  readonly #dialer: TlsDialer;
  readonly #protocols: readonly string[];
  #pool: ConnectionPool | undefined;
  #choosing: Promise<ConnectionPool> | undefined;
  readonly #end = new AbortController();
  #ended: { readonly why: string; readonly atOnce: boolean } | undefined;

  /** @param protocols the ALPN names to offer, the preferred one first */
  constructor(clock: Clock, dialer: TlsDialer, protocols: readonly string[]) {
    this.#clock = clock;
    this.#dialer = dialer;
    this.#protocols = protocols;
  }

  get streams(): number {
    return this.#pool?.streams ?? 0;
  }

  send(request: HttpRequest, headers: OutgoingHttpHeaders, signal: AbortSignal | undefined): Promise<HttpResponse> {
    if (this.#pool !== undefined) return this.#pool.send(request, headers, signal);
    this.#choosing ??= this.#choose();
    return abortable(this.#choosing, signal).then((pool) => pool.send(request, headers, signal));
  }

  retire(why: string): void {
    this.#ended = { why, atOnce: false };
    this.#pool?.retire(why);
  }

  destroy(why: string): void {
    this.#ended = { why, atOnce: true };
    // Also aborts a connection attempt in progress, because a silent server or proxy could make it last long.
    this.#end.abort(new KubeError({ code: 'ConnectionReplaced', message: why }));
    this.#pool?.destroy(why);
  }

  async #choose(): Promise<ConnectionPool> {
    try {
      const socket = await this.#dialer.dial(this.#protocols, this.#end.signal);
      if (socket.alpnProtocol === 'h2') {
        const first = await Http2Connection.over(this.#clock, this.#dialer.server, socket);
        this.#pool = new Http2Pool(this.#clock, () => this.#connect(), first);
      } else {
        this.#pool = new Http1Pool(tlsAgent(this.#dialer, socket), { secure: true, ...this.#dialer.server });
      }
      // `retire` or `destroy` may have been called while the first connection was made. After `retire`, requests that
      // wait for the connection still get their responses.
      if (this.#ended?.atOnce) this.#pool.destroy(this.#ended.why);
      else if (this.#ended !== undefined) this.#pool.retire(this.#ended.why);
      return this.#pool;
    } catch (error) {
      this.#choosing = undefined;
      throw error;
    }
  }

  async #connect(): Promise<Http2Connection> {
    const socket = await this.#dialer.dial(this.#protocols, this.#end.signal);
    if (socket.alpnProtocol === 'h2') return await Http2Connection.over(this.#clock, this.#dialer.server, socket);
    socket.destroy();
    // The server has changed its protocol, so the next request negotiates again.
    this.#pool = undefined;
    this.#choosing = undefined;
    throw systemErrorOf('ECONNRESET', 'the server no longer speaks HTTP/2');
  }
}
