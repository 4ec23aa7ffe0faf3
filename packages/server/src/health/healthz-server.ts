import { type Clock, checkComponents, checkOptions, StartOnce, sleep } from '@node-agent/async';
import { type Logger, type WithDefaults, withDefaults } from '@node-agent/telemetry';
import { type Reply, text } from '../http/reply.ts';
import { checkPort, HttpListener, type ListenAddress } from '../listen/http-listener.ts';
import { type Endpoint, type Route, route } from '../route.ts';
import type { HealthcheckSlis } from './healthcheck-slis.ts';
import { answerHealthz, type HealthCheck, healthProblems, pingCheck } from './healthz.ts';

/** What {@link HealthzServer} works with. */
export interface HealthzServerComponents {
  /** The machine's own where absent. */
  readonly clock?: Clock;
  /** Silent where absent. */
  readonly logger?: Logger;
  /** What must be well; `ping` is always among them. */
  readonly checks: readonly HealthCheck[];
  /** Counts how the checks went. */
  readonly slis?: Pick<HealthcheckSlis, 'watching'>;
}

export interface HealthzServerOptions {
  /** `healthzBindAddress`: 127.0.0.1 by default. */
  readonly address?: string;
  /** `healthzPort`: 10248 by default; 0 for any that is free. */
  readonly port?: number;
  /** Told where it listens, each time that it begins to. */
  readonly onListening?: (got: ListenAddress) => void;
}

/** How long until a port that is taken is tried again, as upstream. */
const RETRY_MS = 5000;
const ENDPOINTS: ReadonlySet<Endpoint> = new Set(['healthz']);

/** The port that tells whether the kubelet is well (`cmd/kubelet/app/server.go`): `/healthz`, `/healthz/<check>`. */
export class HealthzServer {
  readonly #components: WithDefaults<HealthzServerComponents>;
  readonly #options: HealthzServerOptions;
  readonly #startOnce = new StartOnce('HealthzServer');

  /** @throws ServerError `InvalidOptions` for a port that is none: no trying again makes one of it */
  constructor(components: HealthzServerComponents, options: HealthzServerOptions = {}) {
    checkOptions('HealthzServer', options, { address: 'string?', port: 'number?', onListening: 'function?' });
    checkComponents('HealthzServer', components, { checks: 'list' });
    checkPort(options.port);
    this.#components = withDefaults(components);
    this.#options = options;
  }

  /** Serves until `signal` is aborted. Where the port is taken it says so, and tries again every 5 s. */
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

/** The answers that need nothing but the health checks. */
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
