import { type Clock, checkComponents, checkOptions, StartOnce, sleep } from '@node-agent/async';
import { type Logger, type WithDefaults, withDefaults } from '@node-agent/telemetry';
import { type Reply, text } from '../http/reply.ts';
import { checkPort, HttpListener, type ListenAddress } from '../listen/http-listener.ts';
import { type Endpoint, type Route, route } from '../route.ts';
import type { HealthcheckSlis } from './healthcheck-slis.ts';
import { answerHealthz, type HealthCheck, healthProblems, pingCheck } from './healthz.ts';

/** The components of {@link HealthzServer}. */
export interface HealthzServerComponents {
  /** The clock of the server. Default: the system clock. */
  readonly clock?: Clock;
  /** The logger of the server. Default: no logging. */
  readonly logger?: Logger;
  /** The health checks. `ping` is always added. */
  readonly checks: readonly HealthCheck[];
  /** Counts the results of the checks. */
  readonly slis?: Pick<HealthcheckSlis, 'watching'>;
}

export interface HealthzServerOptions {
  /** The configuration's `healthzBindAddress`. Default: 127.0.0.1. */
  readonly address?: string;
  /** The configuration's `healthzPort`. Default: 10248. 0 selects any free port. */
  readonly port?: number;
  /** Called with the address whenever the server starts to listen. */
  readonly onListening?: (got: ListenAddress) => void;
}

/** How long to wait before a failed bind is retried, in milliseconds, as in upstream. */
const RETRY_MS = 5000;
const ENDPOINTS: ReadonlySet<Endpoint> = new Set(['healthz']);

/** The kubelet's health port (`cmd/kubelet/app/server.go`): serves `/healthz` and `/healthz/<check>`. */
export class HealthzServer {
  readonly #components: WithDefaults<HealthzServerComponents>;
  readonly #options: HealthzServerOptions;
  readonly #startOnce = new StartOnce('HealthzServer');

  /** @throws ServerError `InvalidOptions` if the port is invalid; retrying would not help */
  constructor(components: HealthzServerComponents, options: HealthzServerOptions = {}) {
    checkOptions('HealthzServer', options, { address: 'string?', port: 'number?', onListening: 'function?' });
    checkComponents('HealthzServer', components, { checks: 'list' });
    checkPort(options.port);
    this.#components = withDefaults(components);
    this.#options = options;
  }

  /** Serves until `signal` is aborted. If the port is in use, the error is logged and the bind retried every 5 s. */
  async start(signal: AbortSignal): Promise<void> {
    this.#startOnce.begin();
    const { clock, logger, checks, slis } = this.#components;
    const { address = '127.0.0.1', port = 10248, onListening = () => {} } = this.#options;
    const listener = new HttpListener({ clock, logger }, (method, url) =>
      answerFixed(route(method, url, ENDPOINTS), [pingCheck, ...checks], logger, slis),
    );
    while (!signal.aborted) {
      try {
        await listener.run({ address, port }, onListening, signal);
      } catch (err) {
        logger.error({ err, address, port }, 'Failed to start healthz server');
        await sleep(clock, RETRY_MS, signal).catch(() => {});
      }
    }
  }
}

/** Answers a request of a server whose only endpoints are the health checks. */
export function answerFixed(
  found: Route,
  checks: readonly HealthCheck[],
  logger: Logger,
  slis?: Pick<HealthcheckSlis, 'watching'>,
): Reply {
  switch (found.endpoint) {
    case 'healthz': {
      const watched = found.query.check === undefined ? (slis?.watching(checks) ?? checks) : checks;
      const reply = answerHealthz(watched, found.query);
      if (reply?.status === 500) logger.info({ problems: healthProblems(checks) }, 'Health check failed');
      return reply ?? text(404, '404 page not found\n');
    }
    case 'methodNotAllowed':
      return text(405, '405: Method Not Allowed', { Allow: 'GET, HEAD' });
    case 'badRequest':
      return text(400, '400 Bad Request\n');
    default:
      return text(404, '404 page not found\n');
  }
}
