import { type Clock, checkComponents, checkOptions, StartOnce, sleep } from '@node-agent/async';
import { type Logger, type Metrics, type WithDefaults, withDefaults } from '@node-agent/telemetry';
import { isSameSecret, localRequestProblem } from './access/local-request.ts';
import type { Call } from './endpoints/call.ts';
import { ServerError } from './errors.ts';
import type { Answer, Exchange } from './http/exchange.ts';
import { type Reply, text } from './http/reply.ts';
import { parseRequestPath, type RequestPath } from './http/request-path.ts';
import { bind } from './listen/bind.ts';
import { checkPort, type ListenAddress } from './listen/http-listener.ts';
import { PlainListener } from './listen/plain-listener.ts';
import { RequestMetrics } from './request-metrics.ts';

/** A request to a {@link LoopbackServer} whose URL contained the secret. */
export interface LoopbackCall extends Pick<Call, 'headers' | 'signal' | 'path' | 'query'> {
  /** The segments of the path after the secret. */
  readonly rest: readonly string[];
}

/** The components of {@link LoopbackServer}. */
export interface LoopbackServerComponents {
  readonly clock?: Clock;
  readonly logger?: Logger;
  readonly metrics?: Metrics;
  /** Answers a GET request. The implementation must not change anything. */
  answer(call: LoopbackCall): Answer | Promise<Answer>;
}

export interface LoopbackServerOptions {
  /** The TCP port. 0 selects any free port. */
  readonly port: number;
  /** First segment of every path: at least 32 characters that no other user of the machine can guess. */
  readonly secret: string;
  /** The label `path` of the request metrics. */
  readonly name: string;
  /** Called with the address whenever the server starts to listen. */
  readonly onListening?: (got: ListenAddress) => void;
}

/** How long to wait before a failed bind is retried, in milliseconds. {@link HealthzServer} uses the same interval. */
const RETRY_MS = 5000;
const MAX_HEADER_BYTES = 16 * 1024;
/** The maximum number of connections that have not yet shown the secret. */
const MAX_STRANGERS = 64;
/** How long the client of a stream may receive nothing, in milliseconds. */
const STALL_MS = 60_000;
const SECRET = /^[A-Za-z0-9_-]{32,}$/;

/**
 * Serves pages on 127.0.0.1, without TLS, to browsers of users who know a secret. The secret is part of the URL and not
 * a cookie, because browsers send cookies of 127.0.0.1 to the servers on all ports. Requests with a foreign `Host` (DNS
 * rebinding) or `Origin` (other web sites) are rejected, and so is every method other than GET.
 */
export class LoopbackServer {
  readonly #components: WithDefaults<LoopbackServerComponents>;
  readonly #options: LoopbackServerOptions;
  readonly #metrics: RequestMetrics;
  readonly #startOnce = new StartOnce('LoopbackServer');

  /** @throws ServerError `InvalidOptions` if the port or the secret is invalid */
  constructor(given: LoopbackServerComponents, options: LoopbackServerOptions) {
    checkOptions('LoopbackServer', options, {
      port: 'number',
      secret: 'string',
      name: 'string',
      onListening: 'function?',
    });
    checkComponents('LoopbackServer', given, { answer: 'function' });
    checkPort(options.port);
    if (!SECRET.test(options.secret)) {
      throw new ServerError('InvalidOptions', 'secret must have at least 32 characters of A-Z, a-z, 0-9, - and _');
    }
    this.#components = withDefaults(given);
    this.#options = options;
    this.#metrics = new RequestMetrics(this.#components);
  }

  /** Serves until `signal` is aborted. If the port is in use, the error is logged and the bind retried every 5 s. */
  async start(signal: AbortSignal): Promise<void> {
    this.#startOnce.begin();
    const { clock, logger } = this.#components;
    const { port, onListening = () => {} } = this.#options;
    const options = {
      maxHeaderBytes: MAX_HEADER_BYTES,
      maxStrangers: MAX_STRANGERS,
      stallMs: STALL_MS,
      remoteAddress: '127.0.0.1',
      shownPath: pathAfterSecret,
    };
    const upgrade = async (): Promise<Reply> => text(400, 'upgrades are not supported\n');
    while (!signal.aborted) {
      try {
        const listener = new PlainListener({ clock, logger }, options);
        const handlers = { answer: (exchange: Exchange) => this.#counted(exchange), upgrade };
        await listener.run(
          handlers,
          async (server) => {
            await bind(server, { address: '127.0.0.1', port });
            const got = server.address();
            if (got !== null && typeof got === 'object') onListening({ address: got.address, port: got.port });
          },
          signal,
        );
      } catch (err) {
        logger.error({ err, port }, 'Failed to start the server on the loopback interface');
        await sleep(clock, RETRY_MS, signal).catch(() => {});
      }
    }
  }

  async #counted(exchange: Exchange): Promise<Answer> {
    const path = parseRequestPath(exchange.target);
    const refusal = this.#refusal(exchange, path);
    const label = refusal === undefined ? this.#options.name : 'other';
    const end = this.#metrics.begin(exchange.method, label, 'loopback', true);
    if (refusal !== undefined) {
      end();
      return refusal;
    }
    exchange.trust();
    exchange.signal.addEventListener('abort', end, { once: true });
    const { headers, signal } = exchange;
    const [, ...rest] = path.segments ?? [];
    return await this.#components.answer({ headers, signal, rest, path: path.path, query: path.query });
  }

  #refusal({ method, headers }: Exchange, { segments }: RequestPath): Reply | undefined {
    const problem = localRequestProblem(headers);
    if (problem !== undefined) return text(403, `${problem}\n`);
    if (segments === undefined || !isSameSecret(segments[0] ?? '', this.#options.secret)) {
      return text(404, 'not found: the address of the page contains a secret, and may have changed\n');
    }
    return method === 'GET' ? undefined : text(405, '405: Method Not Allowed', { Allow: 'GET' });
  }
}

/** Removes the first segment of a path, which may be the secret, so that the log does not contain it (W4). */
function pathAfterSecret(path: string): string {
  return path.replace(/^\/*[^/]*/, '');
}
