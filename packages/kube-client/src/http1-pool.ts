import type { Agent, ClientRequest, IncomingMessage, OutgoingHttpHeaders } from 'node:http';
import https from 'node:https';
import { errorCode } from '@node-agent/host';
import { retireAgent } from './agents.ts';
import type { ConnectionPool } from './connection-pool.ts';
import { KubeError } from './errors.ts';
import { http } from './node-http.ts';
import { systemErrorOf, toError } from './system-errors.ts';
import type { HttpRequest, HttpResponse } from './transport.ts';

/** Methods whose request is repeated if the server had already closed the kept connection on which it was sent. */
const REPEATABLE = new Set(['GET', 'PUT', 'DELETE']);

/**
 * How long a connection may be silent before the kernel probes it, in milliseconds. A peer that vanished is detected 10
 * s later.
 */
const KEEP_ALIVE_MS = 30_000;

/**
 * The host to connect to and the prefix of request paths. If a proxy forwards requests, `pathPrefix` is a whole URL.
 */
export interface Http1Target {
  readonly secure: boolean;
  readonly host: string;
  readonly port: number;
  readonly pathPrefix: string;
  /** The value of the header `Host`. */
  readonly authority: string;
}

/** Sends requests over HTTP/1.1: each request in progress has its own connection, which is kept for later requests. */
export class Http1Pool implements ConnectionPool {
  readonly #agent: Agent;
  readonly #target: Http1Target;
  /** For each open stream, a function that ends the stream with an error. */
  readonly #streams = new Set<(error: Error) => void>();

  constructor(agent: Agent, target: Http1Target) {
    this.#agent = agent;
    this.#target = target;
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
      const sent = this.#send(request, headers, signal);
      try {
        return await sent.response;
      } catch (error) {
        const closed = errorCode(error) === 'ECONNRESET' && sent.outgoing.reusedSocket;
        if (!first || !closed || !REPEATABLE.has(request.method)) throw error;
      }
    }
  }

  retire(why: string): void {
    this.#endStreams(why);
    retireAgent(this.#agent);
  }

  destroy(why: string): void {
    this.#endStreams(why);
    this.#agent.destroy();
  }

  #send(
    request: HttpRequest,
    headers: OutgoingHttpHeaders,
    signal: AbortSignal | undefined,
  ): { readonly response: Promise<HttpResponse>; readonly outgoing: ClientRequest } {
    const { secure, host, port, pathPrefix, authority } = this.#target;
    const { method, body } = request;
    const path = `${pathPrefix}${request.path}`;
    const outgoing = (secure ? https : http).request({
      ...{ method, agent: this.#agent, host, port, path },
      headers: { ...headers, host: authority },
    });
    let incoming: IncomingMessage | undefined;
    const { promise: response, resolve, reject } = Promise.withResolvers<HttpResponse>();
    const end = (error: Error): void => {
      (incoming ?? outgoing).destroy(error);
      // If no connection exists yet, Node.js reports the error only once connecting has succeeded or failed.
      reject(signal?.aborted ? signal.reason : error);
    };
    const onAbort = (): void => end(toError(signal?.reason));
    // Set here, because Node.js enables keep-alive only on sockets that are idle in the pool, and a watch's socket
    // rarely is.
    outgoing.on('socket', (socket) => void socket.setKeepAlive(true, KEEP_ALIVE_MS));
    outgoing.on('error', (error) => reject(signal?.aborted ? signal.reason : error));
    outgoing.on('response', (message) => {
      incoming = message;
      resolve({ status: message.statusCode ?? 0, headers: flatten(message.headers), body: bodyOf(message, signal) });
    });
    outgoing.on('close', () => {
      signal?.removeEventListener('abort', onAbort);
      this.#streams.delete(end);
      // Node.js reports neither a response nor an error if the server switches to another protocol without a request
      // for it.
      if (incoming === undefined) reject(systemErrorOf('ECONNRESET', 'the connection was closed without a response'));
    });
    if (signal?.aborted) onAbort();
    else signal?.addEventListener('abort', onAbort, { once: true });
    if (request.stream) this.#streams.add(end);
    outgoing.end(body);
    return { response, outgoing };
  }

  #endStreams(why: string): void {
    for (const end of [...this.#streams]) end(new KubeError({ code: 'ConnectionReplaced', message: why }));
  }
}

/** Yields the bytes of a response. After an abort, the iterator throws the signal's reason. */
async function* bodyOf(
  incoming: IncomingMessage,
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array, void, undefined> {
  try {
    for await (const chunk of incoming) yield chunk as Uint8Array;
  } catch (error) {
    throw signal?.aborted ? signal.reason : error;
  }
}

/** Joins the values of headers that occur several times. */
export function flatten(
  headers: Readonly<Record<string, string | readonly string[] | undefined>>,
): Readonly<Record<string, string | undefined>> {
  const joined: Record<string, string | undefined> = {};
  for (const name in headers) {
    const value = headers[name];
    joined[name] = typeof value === 'object' ? value.join(', ') : value;
  }
  return joined;
}
