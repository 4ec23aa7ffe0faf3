import { type Clock, checkComponents, checkOptions, StartOnce } from '@node-agent/async';
import type { Pod, RuntimePod } from '@node-agent/pod-spec';
import { type Logger, type Metrics, type WithDefaults, withDefaults } from '@node-agent/telemetry';
import { listReply } from './endpoints/list-reply.ts';
import { type MetricsText, type PageText, plainReply } from './endpoints/metrics-answer.ts';
import { podList, runningPodList } from './endpoints/pod-list.ts';
import { METRICS_TYPE, type StatsPages, summaryOf } from './endpoints/stats-endpoints.ts';
import type { HealthcheckSlis } from './health/healthcheck-slis.ts';
import { type HealthCheck, pingCheck } from './health/healthz.ts';
import { answerFixed } from './health/healthz-server.ts';
import { type BytesReply, json, type Reply, text } from './http/reply.ts';
import { checkPort, HttpListener, type ListenAddress } from './listen/http-listener.ts';
import { RequestMetrics } from './request-metrics.ts';
import { type Endpoint, type Route, route } from './route.ts';

/**
 * The components of {@link ReadOnlyServer}. Data is passed as functions, so that each request reads the current state.
 */
export interface ReadOnlyServerComponents {
  /** The clock of the server. Default: the system clock. */
  readonly clock?: Clock;
  /** The logger of the server. Default: no logging. */
  readonly logger?: Logger;
  /** The registry of the request metrics. Default: no metrics. */
  readonly metrics?: Metrics;
  /** The health checks. `ping` is always added. */
  readonly checks: readonly HealthCheck[];
  /** Returns the pods assigned to this node, each with its newest status. */
  getPods(): readonly Pod[];
  /** Returns the pods that have at least one running container or sandbox. */
  getRunningPods(signal: AbortSignal): Promise<readonly RuntimePod[]>;
  /** Returns all metrics in Prometheus' text format, with the content type. */
  renderMetrics(signal: AbortSignal): MetricsText | Promise<MetricsText>;
  /** Returns the metrics of probes. If absent, `/metrics/probes` is not served. */
  renderProbeMetrics?(signal: AbortSignal): MetricsText | Promise<MetricsText>;
  /** The stats of the node and its pods. If absent, the stats endpoints are not served. */
  readonly stats?: StatsPages;
  /** Counts the results of health checks, for `/metrics/slis`. If absent, `/metrics/slis` is not served. */
  readonly slis?: Pick<HealthcheckSlis, 'watching' | 'text'>;
  /** Returns the explanation of a pod's state as a JSON value, or `undefined` if the pod does not exist. */
  explain(namespace: string, name: string): unknown;
}

export interface ReadOnlyServerOptions {
  /** The configuration's `address`. Default: 127.0.0.1 (upstream: all addresses). */
  readonly address?: string;
  /** The configuration's `readOnlyPort`. 0 selects any free port. */
  readonly port: number;
  /** Called with the address on which the server listens. */
  readonly onListening?: (got: ListenAddress) => void;
}

const ENDPOINTS: readonly Endpoint[] = ['healthz', 'pods', 'runningpods', 'metrics', 'metrics/probes', 'explain'];
const STATS_ENDPOINTS: readonly Endpoint[] = ['stats/summary', 'metrics/cadvisor', 'metrics/resource'];

/**
 * The kubelet's read-only port (`ListenAndServeKubeletReadOnlyServer`). Any client that reaches the port may read; no
 * handler changes or executes anything (W1). Serves `/healthz`, `/pods`, `/runningpods/`, `/stats/summary`, `/metrics`,
 * `/metrics/probes`, `/metrics/cadvisor`, `/metrics/resource`, `/metrics/slis` and `/explain/pod/<namespace>/<name>`. A
 * failed request returns 500 without the reason, which is only logged; as in upstream, `/stats/summary` includes the
 * reason.
 */
export class ReadOnlyServer {
  readonly #components: WithDefaults<ReadOnlyServerComponents>;
  readonly #options: ReadOnlyServerOptions;
  readonly #metrics: RequestMetrics;
  readonly #endpoints: ReadonlySet<Endpoint>;
  readonly #startOnce = new StartOnce('ReadOnlyServer');

  /** @throws ServerError `InvalidOptions` if the port is invalid */
  constructor(given: ReadOnlyServerComponents, options: ReadOnlyServerOptions) {
    checkOptions('ReadOnlyServer', options, { address: 'string?', port: 'number', onListening: 'function?' });
    checkComponents('ReadOnlyServer', given, {
      checks: 'list',
      getPods: 'function',
      getRunningPods: 'function',
      renderMetrics: 'function',
      explain: 'function',
    });
    checkPort(options.port);
    const components = withDefaults(given);
    this.#components = components;
    this.#options = options;
    this.#metrics = new RequestMetrics(components);
    const { stats, slis } = components;
    this.#endpoints = new Set([
      ...ENDPOINTS,
      ...(stats ? STATS_ENDPOINTS : []),
      ...(slis ? (['metrics/slis'] as const) : []),
    ]);
  }

  /** Serves until `signal` is aborted. @throws ServerError `ListenFailed` */
  async start(signal: AbortSignal): Promise<void> {
    this.#startOnce.begin();
    const { address = '127.0.0.1', port, onListening = () => {} } = this.#options;
    const listener = new HttpListener(this.#components, async (method, url, requestSignal) => {
      const found = route(method, url, this.#endpoints);
      const end = this.#metrics.begin(method, bucketOf(found, this.#endpoints), 'readonly');
      try {
        return await this.#answer(found, requestSignal);
      } finally {
        end();
      }
    });
    await listener.run({ address, port }, onListening, signal);
  }

  async #answer(found: Route, signal: AbortSignal): Promise<Reply | BytesReply> {
    const { clock, checks, logger, stats, slis } = this.#components;
    const reply = (page: MetricsText) => plainReply(page, clock, signal);
    switch (found.endpoint) {
      case 'pods':
        return await listReply(podList(this.#components.getPods()), clock, signal);
      case 'runningpods':
        return await listReply(runningPodList(await this.#components.getRunningPods(signal)), clock, signal);
      case 'metrics':
        return await reply(await this.#components.renderMetrics(signal));
      case 'metrics/probes': {
        const { renderProbeMetrics } = this.#components;
        return await reply((await renderProbeMetrics?.(signal)) ?? { contentType: 'text/plain', text: '' });
      }
      case 'stats/summary': {
        const summary = stats ? await summaryOf(stats, found.query, logger, signal) : notFound();
        return 'status' in summary ? summary : await reply(summary);
      }
      case 'metrics/cadvisor':
        return stats ? await reply(scraped(await stats.cadvisorMetrics(signal))) : notFound();
      case 'metrics/resource':
        return stats ? await reply(scraped(await stats.resourceMetrics(signal))) : notFound();
      case 'metrics/slis':
        return slis ? await reply(scraped(slis.text())) : notFound();
      case 'explain': {
        const { namespace, name } = found;
        const explanation = this.#components.explain(namespace, name);
        return explanation === undefined
          ? text(404, `pod ${namespace}/${name} is not known here\n`)
          : json(explanation);
      }
      default:
        return answerFixed(found, [pingCheck, ...checks], logger, slis);
    }
  }
}

function scraped(page: PageText): MetricsText {
  return { contentType: METRICS_TYPE, text: page };
}

function notFound(): Reply {
  return text(404, '404 page not found\n');
}

/**
 * Returns the label `path` of the request metrics. As in upstream, the label is `stats` for all stats paths. Upstream
 * has no label for `metrics/slis`.
 */
function bucketOf({ endpoint }: Route, endpoints: ReadonlySet<Endpoint>): string {
  if (!endpoints.has(endpoint as Endpoint) || endpoint === 'metrics/slis') return 'other';
  return endpoint === 'stats/summary' ? 'stats' : endpoint;
}
