import type { Agent, ClientRequest, IncomingMessage, OutgoingHttpHeaders } from 'node:http';
import https from 'node:https';
import { errorCode } from '@node-agent/host';
import { retireAgent } from './agents.ts';
import type { ConnectionPool } from './connection-pool.ts';
import { KubeError } from './errors.ts';
import { http } from './node-http.ts';
import { systemErrorOf, toError } from './system-errors.ts';
import type { HttpRequest, HttpResponse } from './transport.ts';

/** Methods that may be sent again where a kept connection turned out to be closed by the server. */
const REPEATABLE = new Set(['GET', 'PUT', 'DELETE']);

/** After so much silence the kernel probes a connection, and finds a peer that vanished 10 s later. */
const KEEP_ALIVE_MS = 30_000;

/** Where requests are sent, and what goes before their paths: a whole URL where a proxy forwards them. */
export interface Http1Target {
  readonly secure: boolean;
  readonly host: string;
  readonly port: number;
  readonly pathPrefix: string;
}

/** HTTP/1.1: a connection for each request that is under way, kept for the next one. */
export class Http1Pool implements ConnectionPool {
  readonly #agent: Agent;
  readonly #target: Http1Target;
  /** Each ends a stream. */
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
    const { secure, host, port, pathPrefix } = this.#target;
    const { method, body } = request;
    const path = `${pathPrefix}${request.path}`;
    const outgoing = (secure ? https : http).request({ method, agent: this.#agent, host, port, path, headers });
    let incoming: IncomingMessage | undefined;
    const { promise: response, resolve, reject } = Promise.withResolvers<HttpResponse>();
    const end = (error: Error): void => {
      (incoming ?? outgoing).destroy(error);
      // Without a connection yet, Node tells of it when there is one, or none.
      reject(signal?.aborted ? signal.reason : error);
    };
    const onAbort = (): void => end(toError(signal?.reason));
    // A watch's connection is seldom idle in the pool, where Node would see to this.
    outgoing.on('socket', (socket) => void socket.setKeepAlive(true, KEEP_ALIVE_MS));
    outgoing.on('error', (error) => reject(signal?.aborted ? signal.reason : error));
    outgoing.on('response', (message) => {
      incoming = message;
      resolve({ status: message.statusCode ?? 0, headers: flatten(message.headers), body: bodyOf(message, signal) });
    });
    outgoing.on('close', () => {
      signal?.removeEventListener('abort', onAbort);
      this.#streams.delete(end);
      // A switch to another protocol, which nobody has asked for, is neither an answer nor an error to Node.
      if (incoming === undefined) reject(systemErrorOf('ECONNRESET', 'the connection was closed without an answer'));
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

/** The bytes of an answer; an abort fails with the signal's reason. */
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

/** Headers of which one name came several times are joined. */
export function flatten(
  headers: Readonly<Record<string, string | readonly string[] | undefined>>,
): Readonly<Record<string, string | undefined>> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, typeof value === 'object' ? value.join(', ') : value]),
  );
}
