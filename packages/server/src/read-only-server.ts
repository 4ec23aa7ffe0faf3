import { type Clock, checkComponents, checkOptions, StartOnce } from '@node-agent/async';
import type { Pod, RuntimePod } from '@node-agent/pod-spec';
import { type Logger, type Metrics, type WithDefaults, withDefaults } from '@node-agent/telemetry';
import type { MetricsText } from './endpoints/metrics-answer.ts';
import { podList, runningPodList } from './endpoints/pod-list.ts';
import { METRICS_TYPE, type StatsPages, summaryReply } from './endpoints/stats-endpoints.ts';
import type { HealthcheckSlis } from './health/healthcheck-slis.ts';
import { type HealthCheck, pingCheck } from './health/healthz.ts';
import { answerFixed } from './health/healthz-server.ts';
import { json, type Reply, text } from './http/reply.ts';
import { checkPort, HttpListener, type ListenAddress } from './listen/http-listener.ts';
import { RequestMetrics } from './request-metrics.ts';
import { type Endpoint, type Route, route } from './route.ts';

/** What {@link ReadOnlyServer} works with: each value that it serves is a function. */
export interface ReadOnlyServerComponents {
  /** The machine's own where absent. */
  readonly clock?: Clock;
  /** Silent where absent. */
  readonly logger?: Logger;
  /** Counted nowhere where absent. */
  readonly metrics?: Metrics;
  /** What must be well; `ping` is always among them. */
  readonly checks: readonly HealthCheck[];
  /** The pods that this node should run, each with the newest status. */
  getPods(): readonly Pod[];
  /** The pods of which anything runs. */
  getRunningPods(signal: AbortSignal): Promise<readonly RuntimePod[]>;
  /** All metrics, in the text format of Prometheus, with its content type. */
  renderMetrics(signal: AbortSignal): MetricsText | Promise<MetricsText>;
  /** The metrics of probes, which have a page of their own; none where absent. */
  renderProbeMetrics?(): MetricsText | Promise<MetricsText>;
  /** The figures of the node and its pods; not served where absent. */
  readonly stats?: StatsPages;
  /** Counts how the checks went, for `/metrics/slis`; not served where absent. */
  readonly slis?: Pick<HealthcheckSlis, 'watching' | 'text'>;
  /** Why a pod is as it is, as a JSON value; `undefined` where there is no such pod. */
  explain(namespace: string, name: string): unknown;
}

export interface ReadOnlyServerOptions {
  /** The configuration's `address`; 127.0.0.1 by default, where upstream's is every address. */
  readonly address?: string;
  /** `readOnlyPort`; 0 for any that is free. */
  readonly port: number;
  /** Told where it listens. */
  readonly onListening?: (got: ListenAddress) => void;
}

const ENDPOINTS: readonly Endpoint[] = ['healthz', 'pods', 'runningpods', 'metrics', 'metrics/probes', 'explain'];
const STATS_ENDPOINTS: readonly Endpoint[] = ['stats/summary', 'metrics/cadvisor', 'metrics/resource'];

/**
 * The kubelet's read-only port (`ListenAndServeKubeletReadOnlyServer`): everyone who reaches it may read, and there is
 * no handler that changes or executes anything (W1). `/healthz`, `/pods`, `/runningpods/`, `/stats/summary`, `/metrics`,
 * `/metrics/probes`, `/metrics/cadvisor`, `/metrics/resource`, `/metrics/slis` and `/explain/pod/<namespace>/<name>`.
 * What fails is a 500 that does not say why: only the log does. That of `/stats/summary` does, as upstream's.
 */
export class ReadOnlyServer {
  readonly #components: WithDefaults<ReadOnlyServerComponents>;
  readonly #options: ReadOnlyServerOptions;
  readonly #metrics: RequestMetrics;
  readonly #endpoints: ReadonlySet<Endpoint>;
  readonly #startOnce = new StartOnce('ReadOnlyServer');

  /** @throws ServerError `InvalidOptions` for a port that is none */
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

  async #answer(found: Route, signal: AbortSignal): Promise<Reply> {
    const { checks, logger, stats, slis } = this.#components;
    switch (found.endpoint) {
      case 'pods':
        return json(podList(this.#components.getPods()));
      case 'runningpods':
        return json(runningPodList(await this.#components.getRunningPods(signal)));
      case 'metrics': {
        return metricsReply(await this.#components.renderMetrics(signal));
      }
      case 'metrics/probes': {
        const { renderProbeMetrics } = this.#components;
        return metricsReply((await renderProbeMetrics?.()) ?? { contentType: 'text/plain', text: '' });
      }
      case 'stats/summary':
        return stats ? await summaryReply(stats, found.query, logger, signal) : notFound();
      case 'metrics/cadvisor':
        return stats ? metricsReply(scraped(await stats.cadvisorMetrics(signal))) : notFound();
      case 'metrics/resource':
        return stats ? metricsReply(scraped(await stats.resourceMetrics(signal))) : notFound();
      case 'metrics/slis':
        return slis ? metricsReply(scraped(slis.text())) : notFound();
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

function metricsReply({ contentType, text: body }: MetricsText): Reply {
  return { status: 200, headers: { 'Content-Type': contentType }, body };
}

function scraped(body: string): MetricsText {
  return { contentType: METRICS_TYPE, text: body };
}

function notFound(): Reply {
  return text(404, '404 page not found\n');
}

/** The label `path` of the metrics of requests: upstream has `stats` for all below it, and none for `metrics/slis`. */
function bucketOf({ endpoint }: Route, endpoints: ReadonlySet<Endpoint>): string {
  if (!endpoints.has(endpoint as Endpoint) || endpoint === 'metrics/slis') return 'other';
  return endpoint === 'stats/summary' ? 'stats' : endpoint;
}
